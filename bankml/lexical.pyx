# cython: language_level=3, autotestdict=False, cdivision=True
"""Ranking by words: BM25 over postings in C memory."""

from threading import Lock

import numpy as np

from libc.math cimport log
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libcpp.queue cimport priority_queue
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from bankml.errors import InputError
from bankml.terms import spans, tokens

__all__ = ["Index", "spans", "tokens"]

K1_MOST = 1000.0  # beyond it a score is tf times idf to three digits

cdef struct Posting:
    int32_t text
    int32_t count  # of the term in the text

ctypedef pair[double, int32_t] Found  # (-score, text): the least is the best, of equals the lower number


cdef class Index:
    """Texts, numbered from 0 as they are added, ranked by BM25 (Robertson and Zaragoza 2009, with Lucene's idf).

    score = Σ idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length)), over the distinct terms of the query,
    idf = ln(1 + (N - df + 0.5) / (df + 0.5)). In float64, added in the order in which the query names its terms; idf
    and the mean length are those of the moment of the search. Safe to use from many threads.

    `mode`: as in `tokens`; k1 from 0 to 1000, b from 0 to 1. Raises InputError.
    """

    name = "BM25 (built in)"
    why = ""  # as in rage.py: nothing failed

    cdef readonly str mode
    cdef readonly double k1, b
    cdef object _lock
    cdef dict _terms  # term → its number
    cdef vector[vector[Posting]] _postings  # by term; the texts ascend
    cdef vector[int32_t] _lengths  # of each text, in terms
    cdef int64_t _length  # of all texts
    cdef vector[double] _norms  # k1 · (1 - b + b · length / mean length) of each text; recomputed when texts were added
    cdef vector[double] _scores  # of each text, all zero between two searches

    def __cinit__(self, mode="unicode", k1=1.2, b=0.75):
        tokens("", mode)
        self.mode = mode
        self.k1 = _between("k1", k1, K1_MOST)
        self.b = _between("b", b, 1.0)
        self._lock = Lock()
        self._terms = {}

    def add(self, text):
        """The number of the text that was added. Raises InputError."""
        terms = tokens(text, self.mode)
        with self._lock:
            return self._add(terms)

    def extend(self, texts):
        """Adds texts in order. Raises InputError with the `index` of the first that is none; those before it stay."""
        if isinstance(texts, str | bytes):
            raise InputError(f"texts is one {type(texts).__name__}; pass a list: [text]")
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(f"text {index} is of type {type(text).__name__}; give a str", index=index)
            self.add(text)

    def search(self, query, k):
        """The best k texts of the query: (numbers int64 (m,), scores float64 (m,)), best first, equals by number.

        m ≤ k: texts without a term of the query are none. Raises InputError.
        """
        terms = dict.fromkeys(tokens(query, self.mode))
        if not isinstance(k, int) or k < 0:
            raise InputError(f"k is {k!r}; give how many texts are wanted at most, 0 or more")
        cdef vector[int32_t] numbers
        cdef vector[Found] reversed
        with self._lock:
            numbers = [self._terms[term] for term in terms if term in self._terms]
            most = min(k, <int64_t>self._lengths.size())
            self._search(numbers, most, reversed)
        return _arrays(reversed)

    def __len__(self):
        return self._lengths.size()

    cdef int64_t _add(self, list terms) except -1:
        """Either all of the text is added or nothing: memory may run out anywhere."""
        cdef int64_t text = self._lengths.size()
        cdef vector[int32_t] numbers
        if text == INT32_MAX or len(terms) > INT32_MAX:
            raise InputError(f"an index holds at most {INT32_MAX} texts of at most so many terms; make another")
        numbers = [self._number(term) for term in terms]
        try:
            for number in numbers:
                self._count(number, text)
            self._lengths.push_back(len(terms))
        except MemoryError:
            self._forget(numbers, text)
            raise
        self._length += len(terms)
        return text

    cdef int32_t _number(self, str term) except -1:
        cdef int32_t number = self._terms.setdefault(term, len(self._terms))
        if number == <int64_t>self._postings.size():
            self._postings.emplace_back()
        return number

    cdef int _count(self, int32_t term, int32_t text) except -1:
        """One more of the term in the text that is being added."""
        cdef vector[Posting]* postings = &self._postings[term]
        if postings.empty() or postings.back().text != text:
            postings.push_back(Posting(text, 1))
        else:
            (&postings.back()).count += 1  # with a pointer: Cython would add to a copy
        return 0

    cdef void _forget(self, vector[int32_t]& terms, int32_t text) noexcept:
        cdef int32_t term
        for term in terms:
            if not self._postings[term].empty() and self._postings[term].back().text == text:
                self._postings[term].pop_back()

    cdef int _search(self, vector[int32_t]& terms, int64_t most, vector[Found]& reversed) except -1:
        cdef vector[int32_t] found
        cdef priority_queue[Found] heap
        cdef int32_t term
        with nogil:
            self._normalise()
            for term in terms:
                self._score(term, found)
            self._best(found, most, heap)
            while not heap.empty():  # the worst first
                reversed.push_back(heap.top())
                heap.pop()
        return 0

    cdef int _normalise(self) except -1 nogil:
        cdef double mean
        cdef int32_t length
        if self._norms.size() == self._lengths.size():
            return 0
        mean = <double>max(self._length, 1) / self._lengths.size()  # without a term anywhere nothing is scored
        self._scores.resize(self._lengths.size())
        self._norms.clear()
        for length in self._lengths:
            self._norms.push_back(self.k1 * (1 - self.b + self.b * length / mean))
        return 0

    cdef int _score(self, int32_t term, vector[int32_t]& found) except -1 nogil:
        """Adds the term's share to the scores, and to `found` the texts that had none."""
        cdef Posting each
        cdef int64_t df = self._postings[term].size()
        cdef double idf = log(1 + (<int64_t>self._lengths.size() - df + 0.5) / (df + 0.5))
        found.reserve(found.size() + df)  # no push below can fail and leave scores that are not zero
        for each in self._postings[term]:
            if self._scores[each.text] == 0:
                found.push_back(each.text)
            self._scores[each.text] += idf * each.count * (self.k1 + 1) / (each.count + self._norms[each.text])
        return 0

    cdef int _best(self, vector[int32_t]& found, int64_t most, priority_queue[Found]& heap) except -1 nogil:
        """The best of the texts found; their scores are zero again."""
        cdef Found here
        cdef int32_t text
        for text in found:
            here = Found(-self._scores[text], text)
            self._scores[text] = 0
            if <int64_t>heap.size() < most:
                heap.push(here)
            elif most and here < heap.top():
                heap.pop()
                heap.push(here)
        return 0


cdef tuple _arrays(vector[Found]& reversed):
    """Numbers int64 (m,) and scores float64 (m,), from the last to the first."""
    cdef int64_t at, size = reversed.size()
    numbers, scores = np.empty(size, np.int64), np.empty(size, np.float64)
    cdef int64_t[::1] number = numbers
    cdef double[::1] score = scores
    for at in range(size):
        number[at], score[at] = reversed[size - 1 - at].second, -reversed[size - 1 - at].first
    return numbers, scores


cdef double _between(str name, value, double most) except -1:
    if not isinstance(value, int | float) or not 0 <= value <= most:
        raise InputError(f"{name} is {value!r}; give a number from 0 to {most:g}")
    return value
