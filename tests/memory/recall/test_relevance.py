"""The order of candidates: pure, bounded, and the same whatever order they come in."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.memory.recall.evidence import Evidence
from bankml.memory.recall.priors import factors, recencies
from bankml.memory.recall.relevance import ALPHA, EXACT, Fusion, ranked

PRIORS = ("freshness", "status", "confidence", "recency", "identifier", "category")
BEST = Evidence("best", cosine=0.9, bm25=9.0, coverage=1.0, words_rank=1, meaning_rank=1, updated_at=1)
WORST = Evidence("worst", cosine=-0.1, bm25=0.0, updated_at=1)

shares = st.floats(0, 1)
ranks = st.none() | st.integers(1, 3000)
evidence = st.builds(
    Evidence,
    id=st.text("abc", min_size=1, max_size=3),
    cosine=st.none() | st.floats(-1, 1),
    bm25=st.just(0.0) | st.floats(0, 1e3),
    coverage=shares,
    words_rank=ranks,
    meaning_rank=ranks,
    by_id=st.booleans(),
    named=st.booleans(),
    freshness=st.sampled_from(["current", "needs_review", "stale"]),
    status=st.sampled_from(["active", "superseded", "archived"]),
    confidence=shares,
    updated_at=st.integers(-5, 5) | st.integers(),
    identifier_missed=st.booleans(),
    category_missed=st.booleans(),
)
pages = st.lists(evidence, max_size=6, unique_by=lambda one: one.id)
fusions = st.sampled_from(["convex", "rrf"])


@given(pages, fusions, shares)
def test_it_is_bounded_and_a_prior_lifts_nothing(page: list[Evidence], fusion: Fusion, alpha: float) -> None:
    exact = any(one.by_id or one.named for one in page)
    for one in ranked(page, fusion, alpha):
        assert 0 <= one.relevance <= 1
        assert all(0.88 <= one.factors[name] <= 1 for name in PRIORS)
        arms = min(1.0, one.factors["meaning"] + one.factors["words"])
        own = (1 - EXACT) * arms + EXACT * one.factors["exact"] if exact else arms
        assert one.relevance <= own + 1e-12


@given(pages, fusions, st.randoms())
def test_the_order_of_the_page_changes_nothing(page: list[Evidence], fusion: Fusion, random) -> None:
    shuffled = random.sample(page, len(page))
    assert ranked(shuffled, fusion) == ranked(page, fusion)


@given(pages, fusions)
def test_by_id_first_then_by_relevance_equals_by_id(page: list[Evidence], fusion: Fusion) -> None:
    by_id = {one.id: one.by_id for one in page}
    order = [(not by_id[one.id], -one.relevance, one.id) for one in ranked(page, fusion)]
    assert order == sorted(order)
    assert len(order) == len(page)


@given(pages, fusions, st.sampled_from(["freshness", "status", "confidence", "identifier_missed", "category_missed"]))
def test_what_speaks_against_a_record_never_lifts_it(page: list[Evidence], fusion: Fusion, name: str) -> None:
    worse = {
        "freshness": "stale",
        "status": "archived",
        "confidence": 0.0,
        "identifier_missed": True,
        "category_missed": True,
    }
    if page:
        before = {one.id: one.relevance for one in ranked(page, fusion)}
        changed = [replace(page[0], **{name: worse[name]}), *page[1:]]
        after = {one.id: one.relevance for one in ranked(changed, fusion)}
        assert after[page[0].id] <= before[page[0].id]
        assert all(after[one.id] == before[one.id] for one in page[1:])


@given(pages, fusions)
def test_a_better_cosine_never_sinks_a_record(page: list[Evidence], fusion: Fusion) -> None:
    cosines = [one.cosine for one in page if one.cosine is not None]
    if len(cosines) > 1 and page[0].cosine is not None:
        before = [one.id for one in ranked(page, fusion)].index(page[0].id)
        better = [replace(page[0], cosine=max(cosines)), *page[1:]]
        assert [one.id for one in ranked(better, fusion)].index(page[0].id) <= before


def test_the_formula() -> None:
    middle = Evidence("m", cosine=0.4, bm25=4.5, coverage=0.5, words_rank=2, meaning_rank=2, updated_at=1)
    first, second, third = ranked([WORST, middle, BEST])
    assert first.relevance == pytest.approx(0.99)  # of equal times none is newer
    assert second.relevance == pytest.approx((0.7 * 0.5 + 0.3 * 0.5) * 0.99)
    assert third.relevance == 0
    assert [one.id for one in (first, second, third)] == ["best", "m", "worst"]
    by_rank = ranked([WORST, middle, BEST], "rrf")
    assert by_rank[0].relevance == pytest.approx(0.99)
    assert by_rank[1].relevance == pytest.approx(61 / 62 * 0.99)


def test_where_one_arm_is_empty_the_other_counts_whole() -> None:
    lexical = [replace(BEST, cosine=None, meaning_rank=None), replace(WORST, cosine=None, bm25=4.5, coverage=1.0)]
    assert [one.relevance for one in ranked(lexical)] == pytest.approx([0.99, 0.5 * 0.99])
    assert ranked([replace(BEST, bm25=0.0, words_rank=None)])[0].relevance == pytest.approx(0.99)
    assert ranked([replace(BEST, meaning_rank=None)], "rrf")[0].relevance == pytest.approx(0.99)
    assert ranked([]) == []


def test_words_are_bounded() -> None:
    """The best by words alone never passes the best by meaning alone."""
    quoted = replace(WORST, id="a", bm25=1e9, coverage=1.0)
    assert [one.id for one in ranked([quoted, replace(BEST, bm25=0.0)])] == ["best", "a"]
    assert ranked([quoted, BEST])[1].relevance == pytest.approx((1 - ALPHA) * 0.99)


def test_the_priors() -> None:
    one = replace(BEST, freshness="needs_review", status="superseded", confidence=0.5)
    expected = {"freshness": 0.94, "status": 0.94, "confidence": 0.95, "recency": 0.995, "identifier": 1, "category": 1}
    assert factors(one, 0.5) == pytest.approx(expected)
    other = replace(BEST, freshness="stale", status="archived", identifier_missed=True, category_missed=True)
    expected = {"freshness": 0.88, "status": 0.88, "confidence": 1, "recency": 1, "identifier": 0.98, "category": 0.9}
    assert factors(other, 1.0) == pytest.approx(expected)
    unknown = replace(BEST, freshness="?", status="?")
    assert (factors(unknown, 1)["freshness"], factors(unknown, 1)["status"]) == (0.88, 0.88)


def test_the_newest_of_a_page_is_whole_and_the_oldest_a_hundredth_less() -> None:
    page = [replace(BEST, id=name, updated_at=at) for name, at in (("a", -7), ("b", 0), ("c", 0), ("d", 10**18))]
    assert recencies(page) == pytest.approx({"a": 0, "b": 1 / 3, "c": 1 / 3, "d": 1})
    assert recencies(page[:1]) == {"a": 0}


def test_stale_below_needs_review_below_current() -> None:
    page = [replace(BEST, id=name, freshness=name) for name in ("stale", "current", "needs_review")]
    assert [one.id for one in ranked(page)] == ["current", "needs_review", "stale"]
    assert math.isclose(ranked(page)[2].relevance, 0.88 * 0.99)


def test_what_is_named_comes_before_what_is_near() -> None:
    near, named = replace(BEST, coverage=0.9), replace(WORST, id="named", named=True)
    assert [one.id for one in ranked([near, named])] == ["named", "best"]
    stale = replace(named, freshness="stale", confidence=0.0)
    assert [one.id for one in ranked([near, stale])] == ["best", "named"]  # it is bounded
    by_id = replace(stale, id="z", named=False, by_id=True, category_missed=True, status="archived")
    assert [one.id for one in ranked([near, named, by_id])] == ["z", "named", "best"]


def test_a_few_common_words_lift_nothing_above_the_answer() -> None:
    answer = Evidence("answer", cosine=0.41, bm25=0.0, coverage=0.0)
    common = Evidence("common", cosine=0.38, bm25=2.0, coverage=0.1)
    others = [Evidence(str(number), cosine=0.1, bm25=0.0) for number in range(3)]
    assert ranked([common, answer, *others])[0].id == "answer"
    assert ranked([replace(common, coverage=0.5), answer, *others])[0].id == "common"


@pytest.mark.parametrize("fusion", ["convex", "rrf"])
def test_what_has_no_vector_yet_is_ranked_by_its_words(fusion: Fusion) -> None:
    nearest = Evidence("nearest", cosine=0.02, meaning_rank=1)
    unread = Evidence("unread", cosine=None, bm25=3.0, coverage=1.0, words_rank=1)
    assert ranked([nearest, unread], fusion)[0].id == "unread"
    hardly = replace(unread, coverage=0.1, words_rank=400)
    near = replace(nearest, cosine=0.7)
    assert ranked([near, hardly, replace(near, id="z", cosine=0.1, meaning_rank=2)], fusion)[0].id == "nearest"
