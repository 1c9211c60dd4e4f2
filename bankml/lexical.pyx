# cython: language_level=3, autotestdict=False, cdivision=True
"""Ranking by words: BM25 over postings in C memory."""

from threading import Lock

import numpy as np

from libc.math cimport INFINITY, log
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libcpp.algorithm cimport pop_heap, push_heap, sort_heap
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from bankml.errors import InputError
from bankml.terms import marked, spans, tokens

__all__ = ["Index", "marked", "spans", "tokens"]

K1_MOST = 1000.0  # beyond it a score is tf times idf to three digits
cdef double SURELY = 1 - 1e-9  # scores are compared with bounds: more than what sums of a million terms round
cdef int64_t STEPS = 32  # a search in postings takes as long as so many of them
# Where loops below could have a branch they multiply by 0 or 1: half of such branches would be guessed wrong, which
# takes as long as three more postings.

cdef struct Posting:
    int32_t text
    int32_t count  # of the term in the text

cdef struct Term:
    vector[Posting]* postings
    double idf
    double rest  # what this term and those behind it can add to a score at most

ctypedef pair[double, int32_t] Found  # (-score, text): the least is the best, of equals the lower number


cdef class Index:
    """Texts, numbered from 0 as they are added, ranked by BM25 (Robertson and Zaragoza 2009, with Lucene's idf).

    score = Σ idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length)), over the distinct terms of the query,
    idf = ln(1 + (N - df + 0.5) / (df + 0.5)). In float64, added from the rarest term to the commonest, equals as the
    query names them; idf and the mean length are those of the moment of the search. Safe to use from many threads.

    `mode`: as in `tokens`; k1 from 0 to 1000, b from 0 to 1. Raises InputError.
    """

    name = "BM25 (built in)"
    why = ""  # as in rage.py: nothing failed

    cdef readonly str mode
    cdef readonly double k1, b
    cdef object _lock
    cdef dict _terms  # term → its number
    cdef vector[vector[Posting]] _postings  # by term, and one for the next; the texts ascend
    cdef vector[int32_t] _lengths  # of each text, in terms
    cdef int64_t _length  # of all texts
    cdef vector[double] _norms  # k1 · (1 - b + b · length / mean length) of each text; recomputed when texts were added
    cdef vector[double] _scores  # of each text, all zero between two searches
    cdef vector[int32_t] _found  # the texts whose scores are not zero, in a search; room for one more than there are

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
        cdef vector[Found] best
        cdef int64_t most
        with self._lock:
            known = [self._terms[term] for term in terms if term in self._terms]
            numbers = sorted(known, key=self._frequency)
            most = min(k, <int64_t>self._lengths.size())
            with nogil:
                self._search(numbers, most, best)
        return _arrays(best)

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
        self._postings.resize(len(self._terms) + 1)  # before the term: memory may run out between the two
        return self._terms.setdefault(term, len(self._terms))

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

    def _frequency(self, int32_t term):
        return self._postings[term].size()

    cdef int _search(self, vector[int32_t]& numbers, int64_t most, vector[Found]& best) except -1 nogil:
        """The best texts, best first (MaxScore, Turtle and Flood 1995, a term at a time).

        Once the texts found so far surpass all that the terms to come can add, no other can be among the best, and
        those that can are few: the commonest terms are looked up for them alone.
        """
        cdef vector[Term] terms
        cdef int64_t found = 0
        cdef size_t at = 0
        cdef double least = 0
        self._normalise()
        self._weigh(numbers, terms)
        try:
            while at < terms.size() and terms[at].rest >= least:
                found = self._score(terms[at], found)
                at += 1
                if at < terms.size() and terms[at].rest < terms[0].rest / 2:  # before that it cannot be surpassed
                    least = self._least(found, most)
            while at < terms.size():
                found = self._keep(found, least - terms[at].rest)
                self._raise(terms[at], found)
                at += 1
                if at < terms.size():
                    least = self._least(found, most)
            self._best(found, most, best)
        finally:  # memory may run out
            self._keep(found, INFINITY)
        sort_heap(best.begin(), best.end())
        return 0

    cdef int _normalise(self) except -1 nogil:
        cdef double mean
        cdef int32_t length
        if self._norms.size() == self._lengths.size():
            return 0
        mean = <double>max(self._length, 1) / self._lengths.size()  # without a term anywhere nothing is scored
        self._scores.resize(self._lengths.size())
        self._found.resize(self._lengths.size() + 1)
        self._norms.clear()
        for length in self._lengths:
            self._norms.push_back(self.k1 * (1 - self.b + self.b * length / mean))
        return 0

    cdef int _weigh(self, vector[int32_t]& numbers, vector[Term]& terms) except -1 nogil:
        cdef int64_t texts = self._lengths.size(), df, at
        cdef double rest = 0
        terms.resize(numbers.size())
        for at in range(<int64_t>terms.size() - 1, -1, -1):
            terms[at].postings = &self._postings[numbers[at]]
            df = terms[at].postings.size()
            terms[at].idf = log(1 + (texts - df + 0.5) / (df + 0.5))
            rest += terms[at].idf * (self.k1 + 1)
            terms[at].rest = rest
        return 0

    cdef inline double _share(self, Term& term, Posting& each) noexcept nogil:
        return term.idf * (each.count * (self.k1 + 1) / (each.count + self._norms[each.text]))

    cdef int64_t _score(self, Term& term, int64_t found) noexcept nogil:
        """Adds the term to the scores of all its texts → how many texts have been found."""
        cdef Posting* each = term.postings.data()
        cdef Posting* end = each + term.postings.size()
        cdef double* score
        while each != end:
            score = &self._scores[each.text]
            self._found[found] = each.text
            found += score[0] == 0
            score[0] += self._share(term, each[0])
            each += 1
        return found

    cdef void _raise(self, Term& term, int64_t found) noexcept nogil:
        """Adds the term to the scores of the texts found that have it."""
        cdef int64_t at
        cdef double* score
        cdef Posting* each = term.postings.data()
        cdef Posting* end = each + term.postings.size()
        if found * STEPS < end - each:
            for at in range(found):
                each = _posting(term.postings[0], self._found[at])
                if each != NULL:
                    self._scores[each.text] += self._share(term, each[0])
            return
        while each != end:
            score = &self._scores[each.text]
            score[0] += self._share(term, each[0]) * (score[0] != 0)
            each += 1

    cdef double _least(self, int64_t found, int64_t most) except -1 nogil:
        """What a text's score must be for it to be among the best of those found; 0 when they are not so many."""
        cdef vector[Found] best
        self._best(found, most, best)
        return -best.front().first * SURELY if most and <int64_t>best.size() == most else 0

    cdef int64_t _keep(self, int64_t found, double least) noexcept nogil:
        """Forgets the texts found with lower scores → how many are left."""
        cdef int64_t at, kept = 0
        cdef bint good
        cdef double* score
        for at in range(found):
            score = &self._scores[self._found[at]]
            good = score[0] >= least
            self._found[kept] = self._found[at]
            kept += good
            score[0] *= good
        return kept

    cdef int _best(self, int64_t found, int64_t most, vector[Found]& best) except -1 nogil:
        """The best of the texts found: a heap with the last of them on top."""
        cdef double score, worst = 0
        cdef int64_t at
        best.reserve(min(found, most) + 1)
        for at in range(found if most else 0):
            score = self._scores[self._found[at]]
            if score < worst:
                continue
            best.push_back(Found(-score, self._found[at]))
            push_heap(best.begin(), best.end())
            if <int64_t>best.size() > most:
                pop_heap(best.begin(), best.end())
                best.pop_back()
                worst = -best.front().first
        return 0


cdef Posting* _posting(vector[Posting]& postings, int32_t text) noexcept nogil:
    """The posting of a text, NULL where the term is not in it."""
    cdef size_t low = 0, high = postings.size(), middle
    while low < high:
        middle = (low + high) // 2
        if postings[middle].text < text:
            low = middle + 1
        else:
            high = middle
    return &postings[low] if low < postings.size() and postings[low].text == text else NULL


cdef tuple _arrays(vector[Found]& best):
    """Numbers int64 (m,) and scores float64 (m,)."""
    cdef int64_t at, size = best.size()
    numbers, scores = np.empty(size, np.int64), np.empty(size, np.float64)
    cdef int64_t[::1] number = numbers
    cdef double[::1] score = scores
    for at in range(size):
        number[at], score[at] = best[at].second, -best[at].first
    return numbers, scores


cdef double _between(str name, value, double most) except -1:
    if not isinstance(value, int | float) or not 0 <= value <= most:
        raise InputError(f"{name} is {value!r}; give a number from 0 to {most:g}")
    return value
