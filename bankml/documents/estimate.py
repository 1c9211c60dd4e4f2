"""About how many tokens a text has, where there is no model to count them: rather too many than too few.

Measured on the FAQs of Debian in ten languages, on one sentence in each of fourteen others and on source code: never
fewer than all-MiniLM's or multilingual-e5's tokens, 1.1 to 2 times as many in languages that the model knows.
"""

import re
from collections.abc import Sequence

SPECIAL = 6  # two special tokens, and a prefix such as "passage: "
LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+")  # with others a model that does not know them spells
CAPITALS = re.compile(r"(?<=[A-Za-z])[A-Z]")  # words in capitals, identifiers and base64 come in smaller pieces
# Hangul is three letters a syllable to BERT; symbols and pictures are up to three pieces where they are unknown.
THREE = re.compile("[\uac00-\ud7a3\u2190-\u2bff\U00010000-\U0010ffff]")
SPACE = re.compile(r"\s+")


def estimate(texts: Sequence[str]) -> list[int]:
    """Tokens of each text, special ones included."""
    return [_tokens(text) for text in texts]


def _tokens(text: str) -> int:
    words = LATIN.findall(text)
    others = len(SPACE.sub("", text)) - sum(map(len, words)) + 2 * len(THREE.findall(text))
    return SPECIAL + others + sum((len(word) + 3) // 3 for word in words) + (len(CAPITALS.findall(text)) + 1) // 2
