"""Passages of one text in many places."""

from bankml.errors import UnavailableError
from bankml.library.search.searcher import Searcher
from bankml.store import Store
from tests.library.shelf import put


def nobody():
    raise UnavailableError("the model is not here: pull it")


def test_results_are_filled_up_from_further_ranks(store: Store) -> None:
    for page in range(200):
        put(store, f"/n/{page}.txt", ["kernel kernel kernel", f"a kernel of number{page}"])
    found = Searcher(store, nobody).search("kernel", 5).results
    assert [hit.others for hit in found] == [199, 0, 0, 0, 0]
    assert [place.path for place in found[0].also] == [f"/n/{page}.txt" for page in range(1, 6)]


def test_others_are_of_what_passes_the_filters(store: Store) -> None:
    for page in range(4):
        put(store, f"/{page % 2}/{page}.txt", ["kernel panic"])
    (hit,) = Searcher(store, nobody).search("kernel", 5, path="/1").results
    assert (hit.path, hit.others, [place.path for place in hit.also]) == ("/1/1.txt", 1, ["/1/3.txt"])


def test_the_same_text_under_another_heading_is_another_passage(store: Store) -> None:
    put(store, "/n/1.txt", ["kernel panic"], heading="One")
    put(store, "/n/2.txt", ["kernel panic"], heading="Two")
    assert len(Searcher(store, nobody).search("kernel", 5).results) == 2
