"""Words and meaning, fused, as somebody types."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bankml.embedders.embedder import Embedder
from bankml.errors import InputError, StoreError, UnavailableError
from bankml.history.indexing import index
from bankml.history.searcher import Known, Searcher


def _none() -> Embedder:
    raise UnavailableError("no model is here; pull one: bankml pull all-minilm-l6-v2")


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_meaning_finds_what_was_said_in_other_words(sample, searcher, embedder):
    index(sample, embedder)
    found = searcher(sample).search("How fast is the ternary model on this laptop?")
    assert "Q2_0 decode" in found.results[0].assistant
    assert found.results[0].meaning_rank == 1
    assert found.status == (
        f"8 of 24 exchanges · BM25 (built in) + {embedder.model} (meaning, 24 of 24 embedded), fused by reciprocal rank"
    )
    assert not found.pending


def test_scores_are_those_of_reciprocal_rank_fusion(sample, searcher, embedder):
    index(sample, embedder)
    for hit in searcher(sample).search("backup copies", k=24).results:
        ranks = [rank for rank in (hit.words_rank, hit.meaning_rank) if rank]
        assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks), abs=1e-12)


def test_each_hit_carries_its_raw_cosine(sample, searcher, embedder, encoder):
    index(sample, embedder)
    query = "license of a model"
    vectors = {}
    for number, line in enumerate(sample.read_text().splitlines()):
        record = json.loads(line)
        vectors[number] = encoder.encode([f"{record['user']}\n{record['assistant']}"])[0].astype(float)
    asked = encoder.encode([query])[0].astype(float)
    for hit in searcher(sample).search(query, k=24).results:
        assert hit.cosine == pytest.approx(float(vectors[hit.id] @ asked), abs=1e-6)


def test_without_a_model_words_rank_and_the_status_says_why(sample):
    searcher = Searcher(sample, _none)
    found = searcher.search("heater greenhouse")
    assert "heater should come on" in found.results[0].assistant
    assert (found.results[0].words_rank, found.results[0].meaning_rank, found.results[0].cosine) == (1, None, None)
    assert "BM25 (built in) alone: no model is here; pull one" in found.status
    assert not found.pending


def test_the_first_search_embeds_in_the_background(sample, searcher, embedder):
    one = searcher(sample)
    embedder.gate.clear()
    begun = time.monotonic()
    found = one.search("backup", wait=0)
    assert time.monotonic() - begun < 10
    assert found.results
    assert found.results[0].words_rank == 1
    assert found.pending
    embedder.gate.set()
    _until(lambda: "24 of 24 embedded" in one.search("backup", wait=0.05).status)
    assert not one.search("backup").pending


def test_a_keystroke_does_not_wait_for_a_query_that_is_being_computed(sample, searcher, embedder):
    index(sample, embedder)
    one = searcher(sample)
    one.search("warm", wait=None)
    embedder.gate.clear()
    for typed in ("ba", "bac", "back", "backu", "backup"):
        found = one.search(typed, wait=0)
        assert found.pending or typed == "ba"
        assert "alone: the meaning is on its way" in found.status or typed == "ba"
    embedder.gate.set()
    _until(lambda: not one.search("backup", wait=0.05).pending)
    assert ["backu"] not in embedder.asked  # overtaken before it was begun


def test_who_waits_for_a_query_that_was_overtaken_is_told_at_once(sample, searcher, embedder):
    index(sample, embedder)
    one = searcher(sample)
    one.search("warm", wait=None)
    embedder.gate.clear()
    one.search("working", wait=0)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(one.search, "overtaken", 8, 3600)
        _until(lambda: one._asked._next is not None)
        one.search("newest", wait=0)
        assert waiting.result(30).pending
        embedder.gate.set()


def test_each_arm_gives_three_times_as_many_as_are_asked_for(sample, searcher, embedder):
    index(sample, embedder)
    one = searcher(sample)
    ranks = [hit.meaning_rank for hit in one.search("the model and the machine", k=8).results]
    assert max(filter(None, ranks)) > 8
    words = [hit.words_rank for hit in one.search("the model and the machine", k=4).results]
    assert max(filter(None, words)) > 4


def test_a_query_of_fewer_than_three_bytes_has_no_meaning(sample, searcher, embedder):
    index(sample, embedder)
    embedder.asked.clear()
    found = searcher(sample).search("é")
    assert "fewer than 3 bytes" in found.status
    assert not embedder.asked
    assert "(meaning" in searcher(sample).search("备份").status  # six bytes


def test_words_of_every_script_are_found(sample):
    searcher = Searcher(sample, _none)
    for query, said in [("备份", "备份"), ("sao lưu", "Sao lưu"), ("лицензия", "MIT"), ("ATELIER", "boîte")]:
        assert said in "".join(hit.user + hit.assistant for hit in searcher.search(query, k=1).results)


def test_without_a_query_the_latest_come_first(sample, searcher):
    one = searcher(sample)
    assert [hit.id for hit in one.search("  ", k=3).results] == [23, 22, 21]
    one.indexing.wait(30)
    assert one.search("", k=3).status == "the latest 3 of 24 exchanges · 24 of 24 embedded with all-minilm-l6-v2-f16"


def test_an_edited_exchange_is_found_by_its_new_words_and_embedded_anew(write, searcher, embedder):
    path = write(("one", "about cats"), ("two", "about ships"))
    index(path, embedder)
    one = searcher(path)
    assert [hit.id for hit in one.search("cats", k=1).results] == [0]
    write(("one", "about volcanoes"), ("two", "about ships"))
    found = one.search("volcanoes", k=1)
    assert [hit.id for hit in found.results] == [0]
    assert not [hit for hit in one.search("cats", k=2).results if hit.words_rank]
    _until(lambda: "2 of 2 embedded" in one.search("lava", wait=0).status)


def test_an_appended_exchange_is_found(write, searcher, embedder):
    path = write(("one", "about cats"))
    one = searcher(path)
    one.search("cats")
    with path.open("a") as file:
        file.write('{"user": "two", "assistant": "about ships"}\n{"torn')
    found = one.search("ships", k=1)
    assert [hit.id for hit in found.results] == [1]
    assert "1 line that is no exchange left out" in found.status


def test_exchanges_of_one_text_are_all_found(write, searcher, embedder):
    path = write(("same", "cats"), ("other", "ships"), ("same", "cats"))
    index(path, embedder)
    found = searcher(path).search("kittens")
    assert [hit.id for hit in found.results] == [0, 2, 1]
    assert [hit.meaning_rank for hit in found.results] == [1, 2, 3]


def test_vectors_of_exchanges_that_are_gone_rank_nothing(write, searcher, embedder):
    path = write(*((f"cat {number}", "purrs") for number in range(40)), ("ship", "sails"))
    index(path, embedder)
    write(("ship", "sails"))
    found = searcher(path).search("kitten", k=1)
    assert [hit.user for hit in found.results] == ["ship"]


@pytest.mark.parametrize("k", [0, -1, 1001])
def test_a_k_that_is_none(sample, searcher, k):
    with pytest.raises(InputError, match=f"k is {k}"):
        searcher(sample).search("x", k)


def test_a_history_that_vanishes_is_said(sample, searcher):
    one = searcher(sample)
    one.search("x")
    sample.unlink()
    with pytest.raises(StoreError, match="does not exist"):
        one.search("x")


def test_a_history_of_no_exchange_is_searched(tmp_path, searcher):
    path = tmp_path / "binary"
    path.write_bytes(bytes(range(256)) * 40)
    found = searcher(path).search("anything")
    assert found.results == []
    assert "0 of 0 exchanges" in found.status
    assert "left out" in found.status


def test_other_weights_vectors_are_not_searched(sample, searcher, embedder):
    index(sample, embedder)
    cache = Path(f"{sample}.emb")
    cache.write_text(cache.read_text().replace(embedder.digest, "0" * 64))
    embedder.gate.clear()
    assert "BM25" in searcher(sample).search("backup", wait=0).status
    embedder.gate.set()


def test_the_order_is_that_of_an_exact_search(tmp_path, write, searcher, embedder, encoder):
    words = "cat dog ship star tree river cloud stone bread music".split()
    path = write(*((f"{a} {b}", f"the {a} and the {b}") for a in words for b in words))
    index(path, embedder)
    texts = [f"{a} {b}\nthe {a} and the {b}" for a in words for b in words]
    exact = encoder.encode(texts).astype(np.float64) @ encoder.encode(["a vessel on water"])[0].astype(np.float64)
    found = searcher(path).search("a vessel on water", k=8).results
    ranked = sorted((hit for hit in found if hit.meaning_rank), key=lambda hit: hit.meaning_rank)
    assert [hit.id for hit in ranked if hit.meaning_rank <= 8] == np.argsort(-exact, kind="stable")[
        : len(ranked)
    ].tolist()


def test_an_exchange_is_read_by_its_id(write, searcher):
    path = write(("one", "a"), ("two", "b"))
    path.write_text("no exchange\n" + path.read_text() + "[]\n")
    one = searcher(path)
    assert [(id, found and found.user) for id in range(-1, 5) for found in [one.exchange(id)]] == [
        (-1, None),
        (0, None),
        (1, "one"),
        (2, "two"),
        (3, None),
        (4, None),
    ]


def test_what_is_known_of_a_history(sample, searcher):
    with sample.open("a") as file:
        file.write("no exchange\n")
    one = searcher(sample)
    one.search("backup")
    one.indexing.wait(60)
    assert one.known() == Known(total=24, embedded=24, skipped_lines=1, indexing=False)


def test_a_history_that_was_edited_before_the_model_came_is_searched(write, embedder):
    path = write(("one", "about cats"), ("two", "about ships"))
    index(path, embedder)
    there = []

    def choose() -> Embedder:
        return embedder if there else _none()

    searcher = Searcher(path, choose)
    assert "no model is here" in searcher.search("cats").status
    write(("three", "about volcanoes"))
    there.append(True)
    searcher._model._looked = float("-inf")  # five seconds later
    assert "0 of 1 exchanges · BM25 (built in) alone: nothing is embedded with " in searcher.search("lava").status
    searcher.close()


def test_a_text_edited_between_ranking_and_reading_is_never_shown_under_anothers_score(write, searcher, monkeypatch):
    path = write(("one", "about cats"), ("two", "about ships"))
    one = searcher(path, embed=False)
    one.search("cats")
    whole, edits = one._ranked, []

    def edited(*arguments):
        if not edits:
            edits.append(write(("six", "about ships"), ("ten", "about cats")))
        return whole(*arguments)

    monkeypatch.setattr(one, "_ranked", edited)
    found = one.search("cats", k=1).results[0]
    assert (found.id, found.assistant) == (1, "about cats")


def test_words_rank_where_the_cache_cannot_be_read(sample, searcher, embedder, tmp_path):
    index(sample, embedder)
    cache = Path(f"{sample}.emb")
    cache.rename(tmp_path / "elsewhere")
    cache.symlink_to(tmp_path / "elsewhere")
    found = searcher(sample).search("greenhouse heater")
    assert "heater" in found.results[0].assistant
    assert "alone: " in found.status
    assert "symbolic link" in found.status


def test_a_fault_of_the_embedder_is_said_and_not_tried_on_each_keystroke(sample, searcher, embedder, monkeypatch):
    tried = []

    def broken(self, texts, **options):
        tried.append(texts)
        raise RuntimeError("out of order")

    monkeypatch.setattr(type(embedder), "embed", broken)
    one = searcher(sample)
    for _ in range(5):
        found = one.search("backup", wait=0.1)
        one.indexing.wait(30)
    assert "RuntimeError: out of order" in one.search("backup", wait=5).status
    assert found.results
    assert len([texts for texts in tried if texts != ["backup"]]) == 1


def test_words_rank_where_the_vectors_break_while_they_are_read(sample, searcher, embedder, monkeypatch):
    def broken(*arguments, **options):
        raise StoreError("the matrix was truncated while it was read")

    index(sample, embedder)
    monkeypatch.setattr("bankml.history.meaning.nearest", broken)
    found = searcher(sample).search("greenhouse heater")
    assert "heater" in found.results[0].assistant
    assert "alone: the matrix was truncated" in found.status


def test_an_answer_that_is_shown_already_is_not_made_again(write, searcher, monkeypatch):
    path = write(("one", "about cats"), ("two", "about ships"))
    one = Searcher(path, _none)
    first = one.search("cats")
    assert first.version != ""
    with monkeypatch.context() as patch:
        patch.setattr(one, "_ranked", None)  # nothing is ranked
        again = one.search("cats", shown=first.version)
    assert (again.results, again.status, again.version) == ([], "", first.version)
    others = [
        one.search("cats", 7, shown=first.version),
        one.search("ships", shown=first.version),
        one.search("", shown=first.version),
        Searcher(path, _none).search("cats", shown=first.version),
    ]
    with path.open("a") as file:
        file.write("torn\n")
    others.append(one.search("cats", shown=first.version))
    assert all(found.results and found.status for found in others)
    assert len({found.version for found in [first, *others]}) == 6


def test_an_answer_is_made_again_when_the_meaning_has_come(sample, searcher, embedder):
    one = searcher(sample)
    embedder.gate.clear()
    words = one.search("backup", wait=0)
    assert words.pending
    embedder.gate.set()
    _until(lambda: "24 of 24 embedded" in one.search("backup", shown=words.version).status)
    one.indexing.wait(60)
    both = one.search("backup")
    assert one.search("backup", shown=both.version).results == []
    Path(f"{sample}.emb").unlink()
    assert one.search("backup", shown=both.version).results


def test_an_answer_that_failed_half_is_made_again(sample, searcher, embedder, monkeypatch):
    def broken(*arguments, **options):
        raise StoreError("the matrix was truncated while it was read")

    index(sample, embedder)
    one = searcher(sample)
    with monkeypatch.context() as patch:
        patch.setattr("bankml.history.meaning.nearest", broken)
        half = one.search("greenhouse heater")
    assert (bool(half.results), half.version) == (True, "")
    assert "fused" in one.search("greenhouse heater", shown=half.version).status


def test_what_is_no_history_at_all_is_asked_about(tmp_path):
    path = tmp_path / "latin1.history"
    path.write_bytes('{"user": "é"}\n'.encode("latin-1") * 3)
    assert "is it a .history, of JSON lines in UTF-8?" in Searcher(path, _none).search("x").status


def test_bad_lines_of_the_cache_are_told(sample, searcher, embedder):
    index(sample, embedder)
    with Path(f"{sample}.emb").open("a") as file:
        file.write("garbage\n")
    assert "1 bad lines in sample.history.emb" in searcher(sample).search("backup").status


@pytest.mark.parametrize(("query", "k", "said"), [("x", 2.5, "k is 2.5"), (None, 8, "NoneType"), (b"x", 8, "bytes")])
def test_arguments_that_are_none(sample, query, k, said):
    with pytest.raises(InputError, match=said):
        Searcher(sample, _none).search(query, k)


def test_a_wait_without_end_ends(sample, searcher):
    assert searcher(sample).search("backup", wait=float("inf")).results
