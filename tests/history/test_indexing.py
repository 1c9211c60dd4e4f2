"""Embedding what a history holds and its cache does not."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from bankml.cache import key
from bankml.errors import CancelledError, ChangedError, InputError, LicenceError, NotFiniteError
from bankml.history.indexing import Indexed, cache_path, index
from bankml.models.licence import Licence


def test_every_exchange_is_embedded_once(sample, embedder):
    assert index(sample, embedder) == Indexed(24, 0, 24, 0)
    assert index(sample, embedder) == Indexed(0, 24, 24, 0)
    assert sum(map(len, embedder.asked)) == 24


def test_only_what_is_new_is_embedded(write, embedder):
    path = write(("one", "a"), ("two", "b"))
    index(path, embedder)
    with path.open("a") as file:
        file.write('{"user": "three", "assistant": "c"}\nno line\n')
    embedder.asked.clear()
    assert index(path, embedder) == Indexed(1, 2, 3, 1)
    assert embedder.asked == [["three\nc"]]


def test_what_is_embedded_is_cut_at_4000_characters(write, embedder):
    index(write(("u" * 3000, "a" * 3000)), embedder)
    assert embedder.asked == [["u" * 3000 + "\n" + "a" * 999]]


def test_one_text_is_embedded_once(write, embedder):
    path = write(("same", "cats"), ("same", "cats"))
    assert index(path, embedder) == Indexed(1, 0, 2, 0)


def test_records_of_a_caller_are_embedded(tmp_path, embedder):
    path = tmp_path / "not.there"
    records = [{"user": "one", "assistant": "a"}, {"user": "one"}, {"user": "one", "assistant": "a"}]
    assert index(path, embedder, records) == Indexed(2, 0, 3, 0)
    assert cache_path(path).exists()


def test_vectors_are_as_private_as_the_text(sample, embedder):
    index(sample, embedder)
    assert cache_path(sample).stat().st_mode & 0o777 == 0o600


def test_what_was_done_stays_when_it_is_cancelled(sample, embedder):
    asked = []

    def progress(done: int, total: int) -> None:
        asked.append((done, total))

    with pytest.raises(CancelledError):
        index(sample, embedder, progress=progress, batch=4, cancelled=lambda: len(asked) >= 2)
    done = len(cache_path(sample).read_text().splitlines())
    assert asked[-1] == (done, 24)
    assert index(sample, embedder) == Indexed(24 - done, done, 24, 0)


def test_a_licence_that_is_not_open_is_refused_unless_it_is_named(sample, embedder, monkeypatch):
    monkeypatch.setattr(type(embedder), "licence", Licence("CC-BY-NC-4.0", False))
    with pytest.raises(LicenceError, match=r"CC-BY-NC-4\.0"):
        index(sample, embedder)
    assert not cache_path(sample).exists()
    assert index(sample, embedder, allow_licence=["CC-BY-NC-4.0"]).embedded == 24


def test_each_line_names_the_engine_and_the_weights(sample, embedder):
    index(sample, embedder)
    for line in cache_path(sample).read_text().splitlines():
        entry = json.loads(line)
        assert (entry["digest"], entry["dims"], entry["engine"]) == (embedder.digest, 384, embedder.engine)


def test_a_model_with_a_prefix_has_keys_of_its_own(sample, embedder, monkeypatch):
    index(sample, embedder)
    monkeypatch.setattr(type(embedder), "document_prefix", "passage: ")
    assert index(sample, embedder).embedded == 24


def test_progress_ends_at_the_total(sample: Path, embedder):
    seen = []
    index(sample, embedder, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (24, 24)
    assert sorted(seen) == seen


def test_a_text_without_a_vector_does_not_stop_the_others(sample, embedder, monkeypatch):
    whole = type(embedder).__base__.embed

    def embed(self, texts, **options):
        for number, text in enumerate(texts):
            if "oath" in text:
                raise NotFiniteError("text has no vector", index=number)
        return whole(self, texts, **options)

    monkeypatch.setattr(type(embedder).__base__, "embed", embed)
    with pytest.raises(NotFiniteError, match="1 of 24 exchanges have no vector, the others have"):
        index(sample, embedder)
    assert len(cache_path(sample).read_text().splitlines()) == 23


def test_texts_without_a_vector_are_left_out_at_once(write, embedder, monkeypatch):
    """An Ollama that is asked for 64 texts of which 5 have none: each was asked for alone five times over."""
    whole, asked = type(embedder).__base__.embed, []

    def embed(self, texts, **options):
        asked.append(len(texts))
        if bad := [number for number, text in enumerate(texts) if "bad" in text]:
            raise NotFiniteError("text has no vector", indexes=bad)
        return whole(self, texts, **options)

    monkeypatch.setattr(type(embedder).__base__, "embed", embed)
    path, parts = write(*((f"{number} {'bad' * (number % 2)}", "a") for number in range(40))), []
    with pytest.raises(NotFiniteError, match="20 of 40 exchanges have no vector"):
        index(path, embedder, progress=lambda done, total: parts.append(done))
    assert parts[-1] == 40
    assert len(asked) <= 2 * len(parts)


def test_no_text_is_embedded_under_the_key_of_another(write, embedder):
    path = write(("one", "aaaa"), ("two", "bbbb"), ("six", "cccc"), ("ten", "dddd"))

    def swap(done: int, total: int) -> None:
        write(("two", "bbbb"), ("one", "aaaa"), ("ten", "dddd"), ("six", "cccc"))

    with pytest.raises(ChangedError, match="changed while it was read"):
        index(path, embedder, progress=swap)
    assert index(path, embedder) == Indexed(3, 1, 4, 0)
    for line in cache_path(path).read_text().splitlines():
        entry = json.loads(line)
        texts = {key(text): text for text in ("one\naaaa", "two\nbbbb", "six\ncccc", "ten\ndddd")}
        vector = np.frombuffer(base64.b64decode(entry["vec"]), "<f4")
        assert vector @ embedder.embed([texts[entry["text_sha256"]]])[0] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("batch", [0, -1])
def test_a_batch_of_none_is_refused(sample, embedder, batch):
    with pytest.raises(InputError, match=f"batch is {batch}"):
        index(sample, embedder, batch=batch)


def test_records_are_read_as_lines_are(tmp_path, embedder):
    records = [{"user": "", "assistant": ""}, {"user": 3}, "no mapping", {"user": "one", "assistant": "a"}, {"ts": 1}]
    assert index(tmp_path / "h", embedder, records) == Indexed(1, 0, 1, 2)
    assert embedder.asked == [["one\na"]]


def test_what_another_process_embeds_meanwhile_counts_as_passed(sample, embedder):
    seen = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        if len(seen) == 1:
            index(sample, embedder)

    assert index(sample, embedder, progress=progress).embedded == 1
    assert seen[-1] == (24, 24)
