"""Why two tokenizers differ on a text: the first class of characters whose removal makes them agree."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Transform = Callable[[str], str]
SEVERAL, UNEXPLAINED = "several of these in one text", "unexplained"


@dataclass(frozen=True)
class Class:
    """A known cause. `remove` takes it out of a text and leaves the rest."""

    name: str
    remove: Transform


def classify(texts: Iterable[str], same: Callable[[str], bool], classes: Sequence[Class]) -> Counter[str]:
    """How many of the texts fall into each class; all of them are known to differ."""
    return Counter(_class(text, same, classes) for text in texts)


def _class(text: str, same: Callable[[str], bool], classes: Sequence[Class]) -> str:
    for one in classes:
        if same(one.remove(text)):
            return one.name
    for one in classes:
        text = one.remove(text)
    return SEVERAL if same(text) else UNEXPLAINED


def without(unwanted: Callable[[str], bool]) -> Transform:
    """Removes the characters that `unwanted` names."""
    return lambda text: "".join(c for c in text if not unwanted(c))


def is_mark(c: str) -> bool:
    return unicodedata.category(c).startswith("M")


# What XLM-R's character map turns into a space, and what it deletes.
BLANK = "\t\n\f\r\u00a0\u3000\u2581\u200b-\u200f\u2028\u2029\ufeff\ufffd\\s\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f"


def _tidy(text: str) -> str:
    return " ".join(re.sub(f"[{BLANK}]", " ", text).split())


def _jamo(c: str) -> bool:
    return "\u1100" <= c <= "\u11ff" or "\ua960" <= c <= "\ua97f" or "\ud7b0" <= c <= "\ud7ff"


WORDPIECE_LLAMA = [
    Class("Hangul: llama.cpp keeps only a syllable's first jamo", without(lambda c: "\uac00" <= c <= "\ud7a3")),
    Class("marks: llama.cpp drops Mc and Me, which Hugging Face keeps", without(is_mark)),
    Class("VT, FF, NEL: spaces for llama.cpp, nothing for Hugging Face", without(lambda c: c in "\x0b\x0c\x85")),
    Class(
        "words above 100 characters: [UNK] for Hugging Face, split by llama.cpp",
        lambda text: " ".join(word[:50] for word in text.split()),
    ),
    Class(
        "▁, and code points newer than Hugging Face's Unicode tables: llama.cpp knows them as signs or marks",
        without(lambda c: ord(c) > 127 and (unicodedata.category(c)[0] in "PS" or unicodedata.category(c) == "Cn")),
    ),
]

UNIGRAM_FAST = [
    Class(
        "text of a special token: Hugging Face's Unigram finds the entry itself",
        lambda text: re.sub("</?s>|<unk>|<pad>|<mask>", " x ", text),
    ),
    Class(
        "decomposed letters, marks, jamo: Hugging Face maps by grapheme cluster, SentencePiece by longest match",
        without(lambda c: is_mark(c) or _jamo(c) or c in "\u200d\uff9e\uff9f"),
    ),
    Class("spaces at an end or made by the map: Hugging Face keeps one as a token", _tidy),
]
