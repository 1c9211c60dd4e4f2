# cython: language_level=3, autotestdict=False
"""Text → terms, the words and pairs of characters that a search by words compares.

`unicode`: NFKC and casefold, then runs of letters and digits of every script with the marks behind them, thirty at
most. Runs of scripts that are written without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Myanmar), and
Korean, whose words carry their particles, become pairs of neighbouring characters; a run of one character is itself.
`ascii`: runs of `[a-z0-9]` of the lower-cased text, nothing else.
"""

import re
from typing import Literal, get_args
from unicodedata import category, combining, normalize

from cpython.unicode cimport PyUnicode_FromKindAndData
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from bankml.errors import InputError

Mode = Literal["unicode", "ascii"]

cdef Py_ssize_t MOST_MARKS = 30  # one behind another, as in Unicode's stream-safe text (UAX #15)

cdef enum Kind:
    UNKNOWN, OTHER, WORD, MARK, UNSPACED

cdef struct Range:
    Py_ssize_t start
    Py_ssize_t end

cdef enum Source:  # of a character as it is written; the bits below are the one that it folds to, 0 if it is not one
    FOLDED = (1 << 21) - 1
    KNOWN = 1 << 21
    SORTED = 1 << 22  # normalisation sorts a run of these
    IGNORED = 1 << 23  # folding drops it
    JOINING = 1 << 24  # normalisation may make one of it and what is before it

cdef unsigned char kinds[0x110000]  # filled as characters are met: most texts meet a few hundred
cdef uint32_t sources[0x110000]  # likewise

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


def marked(query, mode="unicode"):
    """The terms of a query, for `spans` of many texts. Raises InputError."""
    return frozenset(tokens(query, mode))


def spans(text, query, mode="unicode"):
    """Where terms of the query stand in the text: (start, end) in its characters, in order, none touching the next.

    `query`: a str, or what `marked` makes of it in the same mode. What normalisation makes several characters of, or
    one of several, counts as one. Raises InputError.
    """
    wanted = query if isinstance(query, frozenset) else marked(query, mode)
    cdef str original = _checked(text, mode)
    cdef vector[Range] origins, found
    cdef str folded = _traced(original, mode == "ascii", origins)
    cdef Range each
    _find(folded, mode == "ascii", found)
    cdef uint64_t initials = _initials(wanted)
    places = []
    for each in found:
        if initials >> (<uint64_t>folded[each.start] & 63) & 1 and folded[each.start : each.end] in wanted:
            _mark(places, origins[each.start].start, origins[each.end - 1].end)
    return places


cdef uint64_t _initials(wanted) except? 0:
    """A bit for the last six of each term's first character: most words are told from them without being made a str."""
    cdef uint64_t initials = 0
    for term in wanted:
        initials |= <uint64_t>1 << (ord(term[0]) & 63)
    return initials


def _mark(list places, Py_ssize_t start, Py_ssize_t end):
    """Adds a span, or lengthens the last one where the two touch."""
    if places and start <= places[-1][1]:
        start, end = places[-1][0], max(end, places.pop()[1])
    places.append((start, end))


def _checked(text, mode):
    if mode not in _MODES:
        raise InputError(f"the mode is {mode!r}; choose one of: {', '.join(_MODES)}")
    if not isinstance(text, str):
        raise InputError(f"the text is of type {type(text).__name__}; give a str")
    return str(text)


def _fold(str text, mode):
    """The text in which terms are found: Unicode's NFKC_Casefold but for U+200B, or the lower-cased text."""
    return text.lower() if mode == "ascii" or text.isascii() else _folded(_stream_safe(text))


def _folded(str text):
    return normalize("NFKC", _IGNORABLE.sub("", normalize("NFKC", text).casefold()))


cdef str _stream_safe(str text):
    """Without the marks beyond the 30th of a run: sorting n of them takes n² steps, and no word has so many."""
    cdef Py_ssize_t run = 0
    cdef Py_UCS4 character
    cdef uint32_t source
    if not _piled(text):
        return text
    kept = []
    for character in text:
        source = _source(character)
        run = run + 1 if source & SORTED else run if source & IGNORED else 0  # what is dropped later parts no marks
        if run <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


cdef bint _piled(str text) except -1:
    """Whether so many characters that part no marks stand together; most texts are read at every 31st character."""
    cdef Py_ssize_t start = 0, at, size = len(text)
    while start + MOST_MARKS < size:
        at = start + MOST_MARKS
        while at >= start and _source(text[at]) & (SORTED | IGNORED):
            at -= 1
        if at < start:
            return True
        start = at + 1
    return False


cdef str _traced(str text, bint ascii, vector[Range]& origins):
    """The folded text, and for each of its characters the characters of the text that it comes from."""
    cdef Py_ssize_t start = 0, end, size = len(text)
    cdef uint32_t source
    cdef Py_UCS4 character
    cdef str piece
    cdef vector[Py_UCS4] folded
    known = {}
    while start < size:
        source = _source(text[start])
        end = start + 1 if ascii else _joined(text, start)
        if end == start + 1 and source & FOLDED and (not ascii or text[start] < 128):
            folded.push_back(source & FOLDED)
            origins.push_back(Range(start, end))
        else:
            piece = _piece(text[start:end], ascii, known)
            for character in piece:
                folded.push_back(character)
            origins.insert(origins.end(), <size_t>len(piece), Range(start, end))
        start = end
    return PyUnicode_FromKindAndData(4, folded.data(), folded.size())


cdef Py_ssize_t _joined(str text, Py_ssize_t start) except -1:
    """Where what normalisation may join to the character that begins here ends."""
    cdef Py_ssize_t end = start + 1, size = len(text)
    while end < size and _source(text[end]) & JOINING:
        end += 1
    return end


def _piece(str part, ascii, known):
    piece = known.get(part)
    if piece is None:
        piece = known[part] = _fold(part, "ascii" if ascii else "unicode")
    return piece


cdef inline uint32_t _source(Py_UCS4 character) except 0:
    if not sources[character]:
        sources[character] = _described(chr(character))
    return sources[character]


def _described(str character):
    """The bits of `Source`."""
    folded, ignored = _folded(character), bool(_IGNORABLE.match(character))
    is_sorted = combining(normalize("NFKD", character)[0]) != 0  # by its class: U+FF9E and U+FF9F are letters
    joined = normalize("NFKC", character)[0]
    joining = ignored or category(joined)[0] == "M" or bool(_JOINING_JAMO.match(joined))
    only = ord(folded) if len(folded) == 1 else 0
    return KNOWN | SORTED * is_sorted | IGNORED * ignored | JOINING * joining | only


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
