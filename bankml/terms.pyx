# cython: language_level=3, autotestdict=False
"""Text → terms, the words and pairs of characters that a search by words compares.

`unicode`: NFKC and casefold, then runs of letters and digits of every script with the marks behind them. Runs of
scripts that are written without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Myanmar), and Korean, whose
words carry their particles, become pairs of neighbouring characters; a run of one character is itself.
`ascii`: runs of `[a-z0-9]` of the lower-cased text, nothing else.
"""

import re
from functools import cache
from typing import Literal, get_args
from unicodedata import category, normalize

from libcpp.vector cimport vector

from bankml.errors import InputError

Mode = Literal["unicode", "ascii"]

cdef enum Kind:
    UNKNOWN, OTHER, WORD, MARK, UNSPACED

cdef struct Range:
    Py_ssize_t start
    Py_ssize_t end

cdef unsigned char kinds[0x110000]  # filled as characters are met: most texts meet a few hundred

# Letters of these become pairs; their digits are words as elsewhere.
_UNSPACED = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\U0001aff0-\U0001b16f"  # Hiragana, Katakana, Bopomofo
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3035\u3038-\u303c\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00020000-\U0003ffff"  # Han of the planes 2 and 3
    "]"
)
# What Unicode calls default ignorable: it is seen by nobody and changes no word. Not U+200B, which stands between words.
_IGNORABLE = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_JOINING_JAMO = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")  # they compose with what is before them
_MODES = get_args(Mode)


def tokens(text, mode="unicode"):
    """The terms of the text in order, repeated as they are there. Raises InputError."""
    cdef str folded = _fold(_checked(text, mode), mode)
    cdef vector[Range] found
    _find(folded, mode == "ascii", found)
    return [folded[each.start : each.end] for each in found]


def spans(text, query, mode="unicode"):
    """Where terms of the query stand in the text: (start, end) in its characters, in order, none touching the next.

    What normalisation makes several characters of, or one of several, counts as one. Raises InputError.
    """
    wanted = frozenset(tokens(query, mode))
    cdef str original = _checked(text, mode)
    cdef vector[Range] origins, found
    cdef str folded = _traced(original, mode, origins)
    cdef Range each
    _find(folded, mode == "ascii", found)
    marked = []
    for each in found:
        if folded[each.start : each.end] in wanted:
            _mark(marked, origins[each.start].start, origins[each.end - 1].end)
    return marked


def _mark(list marked, Py_ssize_t start, Py_ssize_t end):
    """Adds a span, or lengthens the last one where the two touch."""
    if marked and start <= marked[-1][1]:
        start, end = marked[-1][0], max(end, marked.pop()[1])
    marked.append((start, end))


def _checked(text, mode):
    if mode not in _MODES:
        raise InputError(f"the mode is {mode!r}; choose one of: {', '.join(_MODES)}")
    if not isinstance(text, str):
        raise InputError(f"the text is of type {type(text).__name__}; give a str")
    return str(text)


def _fold(str text, mode):
    """The text in which terms are found: Unicode's NFKC_Casefold but for U+200B, or the lower-cased text."""
    if mode == "ascii" or text.isascii():
        return text.lower()
    return normalize("NFKC", _IGNORABLE.sub("", normalize("NFKC", text).casefold()))


cdef str _traced(str text, mode, vector[Range]& origins):
    """The folded text, and for each of its characters the characters of the text that it comes from."""
    cdef Py_ssize_t start = 0, end, size = len(text)
    cdef Range origin
    folded, known = [], {}
    while start < size:
        end = start + 1
        if mode != "ascii":
            while end < size and ord(text[end]) >= 128 and _joins(text[end]):
                end += 1
        part = text[start:end]
        piece = known.get(part)
        if piece is None:
            piece = known[part] = _fold(part, mode)
        folded.append(piece)
        origin.start, origin.end = start, end
        origins.insert(origins.end(), <size_t>len(piece), origin)
        start = end
    return "".join(folded)


@cache
def _joins(str character):
    """Whether normalisation may make one of this character and what is before it."""
    first = normalize("NFKC", character)[0]
    return category(first)[0] == "M" or bool(_JOINING_JAMO.match(first) or _IGNORABLE.match(character))


cdef int _find(str text, bint ascii, vector[Range]& found) except -1:
    """Where the terms of a folded text stand in it."""
    cdef Py_UCS4 limit = 128 if ascii else 0x110000
    cdef Py_ssize_t at = 0, size = len(text)
    while at < size:
        kind = _kind(text[at], limit)
        if kind == WORD:
            at = _word(text, at, limit, found)
        elif kind == UNSPACED:
            at = _pairs(text, at, found)
        else:
            at += 1
    return 0


cdef Py_ssize_t _word(str text, Py_ssize_t start, Py_UCS4 limit, vector[Range]& found) except -1:
    """Adds the word that begins here → where it ends."""
    cdef Py_ssize_t end = start + 1, size = len(text)
    while end < size and _kind(text[end], limit) in (WORD, MARK):
        end += 1
    found.push_back(Range(start, end))
    return end


cdef Py_ssize_t _pairs(str text, Py_ssize_t start, vector[Range]& found) except -1:
    """Adds each two neighbours of the run that begins here, or its only character → where it ends."""
    cdef Py_ssize_t middle = _marked(text, start), end, size = len(text)
    if middle == size or _kind(text[middle], 0x110000) != UNSPACED:
        found.push_back(Range(start, middle))
    while middle < size and _kind(text[middle], 0x110000) == UNSPACED:
        end = _marked(text, middle)
        found.push_back(Range(start, end))
        start, middle = middle, end
    return middle


cdef Py_ssize_t _marked(str text, Py_ssize_t start) except -1:
    """Where the character that begins here ends, its marks included."""
    cdef Py_ssize_t end = start + 1, size = len(text)
    while end < size and _kind(text[end], 0x110000) == MARK:
        end += 1
    return end


cdef inline unsigned char _kind(Py_UCS4 character, Py_UCS4 limit) except 0:
    if character >= limit:
        return OTHER
    if kinds[character] == UNKNOWN:
        kinds[character] = _classified(chr(character))
    return kinds[character]


def _classified(str character):
    group = category(character)[0]
    if group == "M":
        return MARK
    if group not in "LN":
        return OTHER
    return UNSPACED if _UNSPACED.match(character) and category(character) != "Nd" else WORD
