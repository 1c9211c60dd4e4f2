"""The original's names, over one embedder of the process."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder, memory
from bankml.cache import Cache, key
from bankml.errors import InputError
from bankml.models.presets import ALL_MINILM_L6_V2
from oracle import seeded

FACTS = {"ready", "why", "loaded", "model", "digest", "bytes", "licence", "open", "dims", "provider", "notes"}


def test_nothing_fails_without_a_model() -> None:
    found = memory.status()
    assert set(found) == FACTS
    assert not found["ready"]
    assert not found["loaded"]
    assert "all-minilm-l6-v2 is not on this machine: run `bankml pull all-minilm-l6-v2`" in found["why"]
    assert memory.query_vector("how fast is it") is None
    with pytest.raises(memory.Unavailable, match="bankml pull"):
        memory.embed(["a text"])


@pytest.mark.usefixtures("stocked_home")
def test_the_default_model_embeds(encoder: Encoder) -> None:
    found = memory.status()
    assert set(found) == FACTS
    assert found | {"notes": [], "why": "", "ready": True, "loaded": False} == found
    assert (found["model"], found["provider"], found["dims"]) == ("all-minilm-l6-v2", "native", 384)
    assert (found["licence"], found["open"]) == ("Apache-2.0", True)
    assert found["digest"] == ALL_MINILM_L6_V2.gguf_sha256
    assert np.abs(memory.embed(["a", "b"]) - encoder.encode(["a", "b"])).max() < 1e-6
    vector = memory.query_vector("  a \n")
    assert vector is not None
    assert np.abs(vector - encoder.encode(["a"])[0]).max() < 1e-6
    assert memory.status()["loaded"]
    assert memory.query_vector("a") is vector
    assert memory.query_vector(" \n") is None


@pytest.mark.usefixtures("stocked_home")
def test_the_environment_may_change(monkeypatch: pytest.MonkeyPatch, e5: Path) -> None:
    assert memory.status()["model"] == "all-minilm-l6-v2"
    monkeypatch.setenv("MINDX_EMBED_MODEL", "e5-small")
    assert memory.status()["model"] == "multilingual-e5-small"
    with Encoder(e5) as encoder:
        ours, asked = memory.embed(["sky"])[0], memory.query_vector("sky")
        assert np.abs(ours - encoder.encode(["passage: sky"])[0]).max() < 1e-6
        assert asked is not None
        assert np.abs(asked - encoder.encode(["query: sky"])[0]).max() < 1e-6
    monkeypatch.setenv("BANKML_EMBED_MODEL", "nothing-of-this-name")
    assert "nothing-of-this-name" in memory.status()["why"]
    assert memory.query_vector("sky") is None


def test_a_setting_that_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_EMBED_KEEP_ALIVE", "a minute")
    assert "BANKML_EMBED_KEEP_ALIVE" in memory.status()["why"]
    assert memory.query_vector("sky") is None


def test_what_is_no_text() -> None:
    with pytest.raises(InputError):
        memory.query_vector(5)


def test_two_rankings_are_fused() -> None:
    """The worked values of the design: first in one list, in both, ranks 1 and 24."""
    assert memory.fuse([7], []) == [(7, pytest.approx(0.016393, abs=1e-6))]
    assert memory.fuse([7], [7]) == [(7, pytest.approx(0.032787, abs=1e-6))]
    last = dict(memory.fuse([7], [*range(100, 123), 7]))
    assert last[7] == pytest.approx(0.028298, abs=1e-6)
    assert [item for item, _ in memory.fuse([1, 2], [2, 1])] == [1, 2]


@pytest.mark.usefixtures("stocked_home")
def test_what_is_cached_is_of_the_current_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history, text = tmp_path / "a.history", "question\nanswer"
    assert memory.cached(history) == {}
    vector = memory.embed([text])
    cache = Cache(f"{history}.emb")
    cache.append("all-minilm-l6-v2", memory.status()["digest"], [key(text)], vector)
    cache.append("other", "f" * 64, [key("other")], np.eye(1, 384, dtype=np.float32))
    found = memory.cached(str(history))
    assert list(found) == [key(text)]
    assert np.array_equal(found[key(text)], vector[0])
    monkeypatch.setenv("BANKML_EMBED_MODEL", "nothing-of-this-name")
    assert memory.cached(history) == {}


RECORDS = [{"user": "how fast is it", "assistant": "2.4 s per token"}, {"user": "what is the sky", "assistant": "blue"}]


@pytest.mark.usefixtures("stocked_home")
def test_a_history_is_indexed_once(tmp_path: Path) -> None:
    history, told = tmp_path / "a.history", []
    history.write_text("".join(json.dumps(record) + "\n" for record in RECORDS) + "{torn")
    found = memory.index(history, progress=lambda *numbers: told.append(numbers))
    assert found == {"embedded": 2, "cached": 0, "total": 2, "skipped_lines": 1}
    assert told[-1] == (2, 2)
    assert memory.index(str(history)) == {"embedded": 0, "cached": 2, "total": 2, "skipped_lines": 1}
    more = {"user": "new", "assistant": ""}
    assert memory.index(history, [*RECORDS, more], 1) | {"skipped_lines": 0} == {
        "embedded": 1,
        "cached": 2,
        "total": 3,
        "skipped_lines": 0,
    }
    assert set(memory.cached(history)) == {key(f"{one['user']}\n{one['assistant']}") for one in [*RECORDS, more]}


@pytest.mark.usefixtures("stocked_home")
def test_a_history_is_indexed_in_the_background(tmp_path: Path) -> None:
    under_way = memory.index_async(tmp_path / "a.history", iter(RECORDS))
    under_way.wait(60)
    assert (under_way.running, under_way.error, under_way.done, under_way.total) == (False, "", 2, 2)
    assert len(memory.cached(tmp_path / "a.history")) == 2


@pytest.mark.usefixtures("stocked_home")
def test_a_second_background_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr("bankml.history.indexing.index", lambda *args, **more: go.wait(30))
    first = memory.index_async(tmp_path / "a.history", RECORDS)
    assert memory.index_async(str(tmp_path / "a.history"), RECORDS) is first
    go.set()
    first.wait(30)
    assert memory.index_async(tmp_path / "a.history", RECORDS) is not first


def test_indexing_without_a_model_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(memory.Unavailable, match="bankml pull"):
        memory.index(tmp_path / "a.history", RECORDS)
    under_way = memory.index_async(tmp_path / "a.history", RECORDS)
    under_way.wait(30)
    assert "bankml pull" in under_way.error
    monkeypatch.setenv("BANKML_EMBED_MODEL", str(seeded.tiny(tmp_path / "tiny.gguf")))
    with pytest.raises(memory.Unavailable, match="--allow-licence 'unknown'"):
        memory.index(tmp_path / "a.history", RECORDS)
    assert not list(tmp_path.glob("*.emb"))
    assert memory.index(tmp_path / "a.history", RECORDS, allow_licence="unknown")["embedded"] == 2


@pytest.mark.usefixtures("stocked_home")
def test_a_history_is_published(tmp_path: Path, dsn: str) -> None:
    history = tmp_path / "ada.history"
    history.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    digest = ALL_MINILM_L6_V2.gguf_sha256[:8]
    found = memory.publish(history, "ada", include_private=True, dsn=dsn)
    assert found["embedding"] == f"2 of 2 exchanges embedded with all-minilm-l6-v2 ({digest}…)"
    assert (found["exchanges"], found["embedded"]) == (2, 2)
    found = memory.publish(history, "ada", dsn=dsn)
    assert (found["exchanges"], found["embedded"], found["private_included"]) == (0, 0, False)
