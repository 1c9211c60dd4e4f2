"""About how many tokens a text has, where there is no model to count them: rather too many than too few.

Measured on the FAQs of Debian in ten languages, on one sentence in each of fourteen others, on source code, keys and
hashes: never fewer than all-MiniLM's or multilingual-e5's tokens, 1.1 to 2 times as many in languages that the model
knows. Of letters that are no words but look like some there may be more.
"""

import re
from collections.abc import Sequence

SPECIAL = 6  # two special tokens, and a prefix such as "passage: "
LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+")  # with others a model that does not know them spells
CAPITALS = re.compile(r"(?<=[A-Za-z])[A-Z]")  # words in capitals, identifiers and base64 come in smaller pieces
# Hangul is three letters a syllable to BERT; symbols and pictures are up to three pieces where they are unknown.
THREE = re.compile("[\uac00-\ud7a3\u2190-\u2bff\U00010000-\U0010ffff]")
VOWEL = re.compile(r"[aeiouy\u00c0-\u024f\u1e00-\u1eff]", re.IGNORECASE)
LONG = 12  # letters: in longer ones, and in those without a vowel, each letter may be a piece
SPACE = re.compile(r"\s+")


def estimate(texts: Sequence[str]) -> list[int]:
    """Tokens of each text, special ones included."""
    return [_tokens(text) for text in texts]


def _tokens(text: str) -> int:
    words = LATIN.findall(text)
    others = len(SPACE.sub("", text)) - sum(map(len, words)) + 2 * len(THREE.findall(text))
    return SPECIAL + others + sum(map(_pieces, words)) + (len(CAPITALS.findall(text)) + 1) // 2


def _pieces(word: str) -> int:
    return len(word) if len(word) > LONG or not VOWEL.search(word) else (len(word) + 3) // 3
