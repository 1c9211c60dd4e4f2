"""Real texts as token ids: sections of the English Debian FAQ, long and short ones as they come."""

import zlib
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np

from bankml import Encoder
from bench import sections

SHORTEST, LONGEST = 16, 512  # tokens of a section that is taken
PROSE = Path(__file__).parents[1] / "LICENSE-APACHE"  # 1,581 words of English that nobody edits
TOKENS = 4096  # of all together, at least


@cache
def mixed(path: Path, prefix: str = "") -> list[list[int]]:
    """Sections of 16 to 512 tokens as the model at `path` tokenizes them behind `prefix`; the same in every run."""
    return [ids for _, ids in mixed_texts(path, prefix)]


@cache
def mixed_texts(path: Path, prefix: str = "") -> list[tuple[str, list[int]]]:
    """As `mixed`: each text, `prefix` included, with its ids."""
    with Encoder(path) as encoder:
        texts = [(prefix + text, encoder.tokenize(prefix + text)) for text in sections.sections("en")]
    fitting = [each for each in texts if SHORTEST <= len(each[1]) <= min(LONGEST, encoder.context_length)]
    order = np.random.Generator(np.random.Philox(key=zlib.crc32(b"sections"))).permutation(len(fitting))
    taken: list[tuple[str, list[int]]] = []
    for index in order:
        if sum(len(ids) for _, ids in taken) >= TOKENS:
            break
        taken.append(fitting[index])
    return taken


def of_length(encoder: Encoder, count: int, length: int) -> list[str]:
    """`count` texts of `length` tokens: words of PROSE that are one token each; seeded."""
    found = sorted({word for word in PROSE.read_text(encoding="utf-8").split() if word.isascii() and word.isalpha()})
    words = [word for word in found if word.islower() and len(encoder.tokenize(word)) == 3]
    generator = np.random.Generator(np.random.Philox(key=length))
    texts = [" ".join(generator.choice(words, length - 2)) for _ in range(count)]
    assert {len(encoder.tokenize(text)) for text in texts} == {length}
    return texts


@cache
def words(path: Path, prefix: str, count: int = 2000) -> tuple[list[int], list[int]]:
    """The ids of `prefix`, and of words that are one token each: written behind it with spaces they are one text."""
    with Encoder(path) as encoder:
        opening = encoder.tokenize(prefix.strip())[1:-1]
        entries = np.random.Generator(np.random.Philox(key=zlib.crc32(b"words"))).permutation(np.arange(1000, 200_000))
        whole = (token for token in map(int, entries) if _alone(encoder, prefix.strip(), opening, token))
        return opening, list(islice(whole, count))


def _alone(encoder: Encoder, prefix: str, opening: list[int], token: int) -> bool:
    """Whether the token is a word of small ASCII letters, and that word the token."""
    word = encoder.piece(token).decode("utf-8", "replace").replace("\u2581", " ")
    letters = word[0] == " " and word[1:].isascii() and word[1:].isalpha() and word.islower()
    return letters and encoder.tokenize(prefix + word)[1:-1] == [*opening, token]
