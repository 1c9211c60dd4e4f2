"""BM25: against bm25s and a plain reference in float64, to the bit where the sums are the same."""

import math
import random
import subprocess
import sys
import threading
from collections import Counter

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.errors import InputError
from bankml.lexical import Index, tokens

K1, B = 1.2, 0.75
texts = st.lists(st.text(alphabet="abc dé漢字ท", max_size=30), max_size=12)


def reference(corpus: list[str], query: str, k: int, mode: str = "unicode") -> list[tuple[int, float]]:
    """BM25 as papers write it, for every text; terms from the rarest to the commonest, as the index adds them."""
    counts = [Counter(tokens(text, mode)) for text in corpus]
    lengths = [sum(count.values()) for count in counts]
    mean = sum(lengths) / len(lengths) if lengths else 0
    scores = dict.fromkeys(range(len(corpus)), 0.0)
    frequencies = {term: sum(term in count for count in counts) for term in tokens(query, mode)}
    for term, df in sorted(frequencies.items(), key=lambda each: each[1]):
        idf = math.log(1 + (len(corpus) - df + 0.5) / (df + 0.5))
        for i, count in enumerate(counts):
            if tf := count[term]:
                scores[i] += idf * (tf * (K1 + 1) / (tf + K1 * (1 - B + B * lengths[i] / mean)))
    return sorted(((i, s) for i, s in scores.items() if s > 0), key=lambda each: (-each[1], each[0]))[:k]


def found(index: Index, query: str, k: int) -> list[tuple[int, float]]:
    numbers, scores = index.search(query, k)
    assert numbers.dtype == np.int64
    assert scores.dtype == np.float64
    return list(zip(numbers.tolist(), scores.tolist(), strict=True))


def built(corpus: list[str], mode: str = "unicode") -> Index:
    index = Index(mode)
    index.extend(corpus)
    return index


def seeded(count: int, words: int = 400) -> list[str]:
    """Texts of 0 to 60 words of which the frequent ones are frequent."""
    generator = random.Random(20)
    weights = [1 / (rank + 1) for rank in range(words)]
    return [" ".join(generator.choices([f"w{i}" for i in range(words)], weights, k=i % 61)) for i in range(count)]


@given(texts, st.text(alphabet="abc dé漢字ท", max_size=12), st.integers(0, 15))
def test_equal_to_the_formula_to_the_bit(corpus: list[str], query: str, k: int) -> None:
    assert found(built(corpus), query, k) == reference(corpus, query, k)


@pytest.mark.parametrize("k", [1, 2, 8, 24, 300])
def test_texts_that_cannot_be_among_the_best_are_passed_over_and_no_other(k: int) -> None:
    """The same to the bit where only a part of the texts is scored: rare and frequent words in one query."""
    corpus = seeded(1500)
    index, generator = built(corpus), random.Random(k)
    for length in [1, 2, 3, 5, 8, 40]:
        for _ in range(4):
            query = " ".join(f"w{int(400 ** generator.random())}" for _ in range(length))
            assert found(index, query, k) == reference(corpus, query, k), query


@given(texts, texts, st.text(alphabet="abc d", max_size=12))
def test_adding_later_is_adding_at_once(first: list[str], then: list[str], query: str) -> None:
    index = built(first)
    found(index, query, 3)
    assert [index.add(text) for text in then] == list(range(len(first), len(first) + len(then)))
    assert len(index) == len(first) + len(then)
    assert found(index, query, 50) == found(built(first + then), query, 50)


def test_equal_to_bm25s() -> None:
    """Its method "lucene" leaves out the factor k1 + 1."""
    corpus = seeded(3000)
    listed = [tokens(text) for text in corpus]
    vocabulary = {term: i for i, term in enumerate(dict.fromkeys(t for text in listed for t in text))}
    peer = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float64")
    peer.index(([[vocabulary[term] for term in text] for text in listed], vocabulary), show_progress=False)
    index = built(corpus)
    for query in ["w0", "w3 w150 w399", "w7 w7 w8", " ".join(f"w{i}" for i in range(0, 400, 20))]:
        theirs = peer.get_scores(list(dict.fromkeys(tokens(query)))) * (K1 + 1)
        numbers, scores = index.search(query, len(corpus))
        assert len(numbers) == np.count_nonzero(theirs)
        np.testing.assert_allclose(scores, theirs[numbers], rtol=1e-6)
        assert (np.diff(scores) <= 0).all()


def test_ties_by_number_and_the_best_of_many() -> None:
    index = built(["b", "a", "a", "b a", "a", "c"] * 50)
    numbers, scores = index.search("a", 100)
    assert numbers.tolist() == sorted(range(300), key=lambda i: (i % 6 not in (1, 2, 4), i))[:100]
    assert len(set(scores.tolist())) == 1


def test_k() -> None:
    index = built(["a", "a b", "c"])
    assert found(index, "a", 0) == []
    assert len(found(index, "a", 2**70)) == 2
    assert len(found(index, "a", 1)) == 1
    for k in (-1, 1.5, None, "3"):
        with pytest.raises(InputError, match="k is"):
            index.search("a", k)


def test_nothing_to_find() -> None:
    assert found(Index(), "a", 3) == []
    index = built(["", "!?", "a"])
    assert found(index, "...!?", 3) == []
    assert found(index, "", 3) == []
    assert found(index, "b", 3) == []
    assert found(index, "a", 3) == reference(["", "!?", "a"], "a", 3)
    assert found(built(["", "", ""]), "a", 3) == []


def test_each_distinct_term_once() -> None:
    index = built(["a b", "b", "c"])
    assert found(index, "b b a b", 3) == found(index, "b a", 3)


def test_ascii_mode() -> None:
    corpus = ["Việt Nam", "naïve approach", "Привет"]
    index = built(corpus, "ascii")
    assert found(index, "na", 3) == reference(corpus, "na", 3, "ascii") != []
    assert found(index, "Привет", 3) == []
    assert index.mode == "ascii"


def test_one_token_of_a_megabyte() -> None:
    long = "x" * 2**20
    index = built(["a", long, "a"])
    assert [number for number, _ in found(index, long, 3)] == [1]
    assert found(index, long[1:], 3) == []


def test_a_million_terms() -> None:
    index = built([" ".join(map(str, range(1_000_000))), "7"])
    assert [number for number, _ in found(index, "999999", 3)] == [0]
    assert [number for number, _ in found(index, "7", 3)] == [1, 0]
    assert len(found(index, " ".join(map(str, range(100_000))), 3)) == 2


def test_hostile_text() -> None:
    index = built(["\ud800a\0b", "\0" * 100, "\udfff"])
    assert [number for number, _ in found(index, "b \ud800", 3)] == [0]


@pytest.mark.parametrize("options", [{"k1": -1}, {"k1": math.nan}, {"b": 1.1}, {"k1": "1"}, {"mode": "utf8"}])
def test_options_that_are_none(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Index(**options)


def test_other_constants() -> None:
    index = Index(k1=0, b=0)
    index.extend(["a a a", "a b"])
    assert len({score for _, score in found(index, "a", 2)}) == 1  # k1 = 0: how often does not count


def test_what_is_no_text() -> None:
    index = Index()
    with pytest.raises(InputError, match="the text is of type NoneType"):
        index.add(None)
    with pytest.raises(InputError, match="pass a list"):
        index.extend("abc")
    with pytest.raises(InputError, match="text 1 is of type bytes") as raised:
        index.extend(["a", b"b", "c"])
    assert raised.value.index == 1
    assert len(index) == 1
    with pytest.raises(InputError):
        index.search(None, 3)


EXHAUSTED = """
import os, resource
from collections import Counter
import numpy as np
from bankml.lexical import Index

def built():
    index = Index()
    index.extend(["a b", "a"] * 20_000)
    index.add(" ".join(f"t{n}" for n in range(2, 1 << 15)))  # the next new term needs a larger vector
    return index

def limit(size):
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))

def tried(call):
    try:
        return call() is not None
    except MemoryError:
        return False

def child(room):
    limit(int(open("/proc/self/statm").read().split()[0]) * 4096 + room)
    added = [text for text in ("n0 a", "n1 n1 b", "n2") if tried(lambda: index.add(text))]
    searched = [tried(lambda: index.search("b a", k)) for k in (8, 1 << 20, 1 << 20)]
    limit(resource.RLIM_INFINITY)
    more = [" ".join(f"n{n}" for n in range(1, 9_000)), "n0 a"]
    index.extend(more)
    expected.extend([*added, *more])
    assert len(index) == len(expected)
    for query in ("b a", "n0", "n1", "n2", "n8999 t7 b", "a"):
        for one, other in zip(index.search(query, 1 << 20), expected.search(query, 1 << 20), strict=True):
            assert np.array_equal(one, other), query
    return len(added) < 3, not all(searched)

def status(room):
    if pid := os.fork():
        return os.waitpid(pid, 0)[1]
    code = 100
    try:
        unadded, unsearched = child(room)
        code = unadded + 2 * unsearched
    finally:
        os._exit(code)

index, expected = built(), built()
found = Counter(os.waitstatus_to_exitcode(status(room * 200_000)) for room in range(20))
print(found)
assert set(found) <= {0, 1, 2, 3}, found
assert found[1] + found[3] > 1 and found[2] + found[3] > 1 and found[0], "memory did not run out, or always"
"""


def test_memory_that_runs_out_ends_no_process_and_spoils_no_answer() -> None:
    """At any of the allocations: an index in 20 processes that have from nothing to 4 MB left."""
    done = subprocess.run([sys.executable, "-c", EXHAUSTED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@given(st.integers(2, 6))
def test_many_threads(count: int) -> None:
    """Every search sees a whole number of texts, and in the end all are there, each once."""
    index = built(["alpha beta"] * 10)
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(60):
                index.add(f"alpha t{number}x{i}")
                numbers, scores = index.search("alpha", 1000)
                assert len(set(numbers.tolist())) == len(numbers) <= len(index)
                assert np.isfinite(scores).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(index) == 10 + 60 * count == len(found(index, "alpha", 1000))
    assert all(len(found(index, f"t{n}x{i}", 9)) == 1 for n in range(count) for i in (0, 59))
