"""The original's names, over one embedder of the process."""

from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder, memory
from bankml.errors import InputError
from bankml.models.presets import ALL_MINILM_L6_V2

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
