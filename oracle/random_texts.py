"""Seeded random texts that look for trouble: all planes, marks, emoji, right to left, controls, NFD, long words."""

import random
import unicodedata
from collections.abc import Iterator

# (first, end, weight)
BLOCKS = [
    (0x20, 0x7F, 6),
    (0x00, 0x20, 1),
    (0x80, 0x250, 3),  # Latin
    (0x300, 0x370, 3),  # combining marks
    (0x370, 0x590, 2),  # Greek, Cyrillic, Armenian
    (0x590, 0x800, 2),  # Hebrew, Arabic, Syriac
    (0x900, 0xE00, 3),  # India
    (0xE00, 0x1200, 2),  # Thai, Tibetan, jamo
    (0x1E00, 0x2000, 2),  # composed Latin and Greek
    (0x2000, 0x2C00, 2),  # spaces, joiners, signs
    (0x3000, 0x3400, 2),
    (0x4E00, 0xA000, 2),
    (0xAC00, 0xD7A4, 2),  # Hangul
    (0xF900, 0xFB50, 1),  # compatibility ideographs
    (0xFB50, 0x10000, 2),  # presentation forms, half width, specials
    (0x10000, 0x20000, 2),
    (0x1D100, 0x1D200, 1),  # musical marks: they stay, and they move
    (0x1F300, 0x1FA00, 1),
    (0x20000, 0x110000, 1),
]
WEIGHTS = [weight for _, _, weight in BLOCKS]
PHRASES = (
    "the quick Brown fox's naïve café 東京都に Привет мир 한국어 l'État ﬁne \uff11\uff12\uff13 ｶﾞ ｷﾞ が か\u3099 e\u0301 "
    "\u1112\u1161\u11ab 👩\u200d👩\u200d👧 🇩🇪 שלום مرحبا \u202bab\u202c ทดสอบ हिन्दी </s> [SEP] <unk> "
    "supercalifragilisticexpialidocious İstanbul STRASSE ẞ ΣΊΣΥΦΟΣ $5.00 a_b@c.d 3,14"
)
WORDS = PHRASES.split()
# Marks of many combining classes, some stripped by BERT and some not.
MARKS = [
    *(0x300, 0x327, 0x334, 0x345, 0x302E, 0x302F, 0x1D165, 0x1D166, 0x1D16D, 0x16FF0, 0x34F, 0x5B0, 0x64B, 0xF71),
    *(0x1715, 0x94D, 0x20D0, 0x1AB0, 0x1E8D0, 0x10A0D, 0x11133, 0x1DA9B, 0x1B44, 0x3099),
]


def random_texts(count: int, seed: int) -> Iterator[str]:
    generator = random.Random(seed)
    kinds = [mixed, words, marks, long_word, one_block]
    for _ in range(count):
        text = generator.choices(kinds, (30, 30, 10, 5, 25))[0](generator)
        yield unicodedata.normalize("NFD", text) if generator.random() < 0.3 else text


def character(generator: random.Random, first: int, end: int) -> str:
    while 0xD800 <= (c := generator.randrange(first, end)) < 0xE000:
        pass
    return chr(c)


def mixed(generator: random.Random) -> str:
    blocks = generator.choices(BLOCKS, WEIGHTS, k=generator.randrange(1, 40))
    return "".join(character(generator, first, end) for first, end, _ in blocks)


def words(generator: random.Random) -> str:
    chosen = generator.choices(WORDS, k=generator.randrange(1, 12))
    return " ".join(word + (mixed(generator)[:1] if generator.random() < 0.3 else "") for word in chosen)


def marks(generator: random.Random) -> str:
    return "a" + "".join(map(chr, generator.choices(MARKS, k=generator.randrange(1, 10)))) + "b"


def long_word(generator: random.Random) -> str:
    return generator.choice("aжが漢é한") * generator.randrange(95, 130) + generator.choice(["", " end", "\u0301"])


def one_block(generator: random.Random) -> str:
    first, end, _ = generator.choice(BLOCKS)
    size = generator.randrange(1, 60)
    return "".join(character(generator, first, end) if generator.random() < 0.85 else " " for _ in range(size))
