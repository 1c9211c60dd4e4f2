import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bankml.encoder import Encoder
from bankml.errors import ModelError
from bankml.models import choose, pinned, pull
from bankml.models.digest import sha256
from bankml.models.names import Choice
from bankml.models.verify import published_for, verify


def test_the_default_model_gives_the_published_vector(stocked_home: Path) -> None:
    choice = choose("all-minilm")
    with Encoder(choice.path) as encoder:
        report = verify(choice, encoder)
    assert report.problems == []
    assert report.digest == report.expected
    assert report.cosine is not None
    assert report.cosine >= 0.99999


def test_a_model_without_a_published_vector_is_checked_otherwise(stocked_home: Path) -> None:
    choice = choose("e5-small")
    with Encoder(choice.path) as encoder:
        report = verify(choice, encoder)
    assert (report.problems, report.published, report.cosine) == ([], None, None)
    assert report.digest == report.expected


def test_changed_weights_are_seen_in_digest_and_vector(minilm: Path, tmp_path: Path, stocked_home: Path) -> None:
    content = bytearray(minilm.read_bytes())
    at = len(content) - 20 * 1024
    content[at : at + 8192] = bytes(8192)  # 4,096 weights of the last layer
    changed = tmp_path / "changed.gguf"
    changed.write_bytes(content)
    with Encoder(changed) as encoder:
        report = verify(replace(choose("all-minilm"), path=changed), encoder)
    assert report.cosine is not None
    assert report.cosine < 0.99999
    assert [problem.split()[1] for problem in report.problems] == ["has", "gives"]
    assert "delete it and pull it again" in report.problems[0]


def test_a_bit_that_rotted_is_seen_though_size_and_time_are_the_same(
    minilm: Path, tmp_path: Path, stocked_home: Path
) -> None:
    rotten = Path(shutil.copy(minilm, tmp_path / "rotten.gguf"))
    choice = replace(choose("all-minilm"), path=rotten)
    before, status = sha256(rotten), rotten.stat()
    with rotten.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    os.utime(rotten, ns=(status.st_atime_ns, status.st_mtime_ns))
    with Encoder(rotten) as encoder:
        report = verify(choice, encoder)
    assert f"has the sha256 {report.digest}, not {before}" in report.problems[0]
    assert report.digest == sha256(rotten) != before


def test_a_weight_that_is_not_finite_is_an_error(minilm: Path, tmp_path: Path) -> None:
    content = bytearray(minilm.read_bytes())
    content[len(content) - 100_000 : len(content) - 99_998] = b"\x00\x7e"  # an F16 NaN
    (tmp_path / "nan.gguf").write_bytes(content)
    choice = choose(str(tmp_path / "nan.gguf"))
    with Encoder(choice.path) as encoder, pytest.raises(ModelError, match=r"blk\.5\."):
        verify(choice, encoder)


@pytest.mark.parametrize(
    ("name", "model", "dims"),
    [
        ("bge-m3/latest", "bge-m3", 1024),
        ("bge-m3/567m", "bge-m3", 1024),
        ("BGE-M3/latest", "bge-m3", 1024),
        ("snowflake-arctic-embed2/latest", "snowflake-arctic-embed2", 1024),
        ("paraphrase-multilingual/latest", "paraphrase-multilingual", 768),
        ("all-minilm/33m", None, 0),
        ("bge-m3/other", None, 0),
        ("nomic-embed-text/latest", None, 0),
    ],
)
def test_which_model_of_ollama_has_a_published_vector(
    store, tiny_gguf: Path, name: str, model: str | None, dims: int
) -> None:
    store.add(f"registry.ollama.ai/library/{name}", tiny_gguf)
    published = published_for(choose(name.replace("/", ":")))
    assert (published and published.model) == model
    if published:
        assert published.vector.shape == (dims,)
        assert np.linalg.norm(published.vector) == pytest.approx(1, abs=1e-6)
        assert published.text == "why is the sky blue?"


def test_another_repository_of_that_name_has_none(store, tiny_gguf: Path) -> None:
    store.add("hf.co/someone/bge-m3/latest", tiny_gguf)
    store.add("registry.ollama.ai/someone/bge-m3/latest", tiny_gguf)
    assert published_for(choose("hf.co/someone/bge-m3")) is None
    assert published_for(choose("someone/bge-m3")) is None


def test_ollamas_blob_must_have_the_digest_of_its_name(store, tiny_gguf: Path) -> None:
    blob = store.add("registry.ollama.ai/me/tiny/latest", tiny_gguf)
    choice: Choice = choose("me/tiny")
    with Encoder(choice.path) as encoder:
        assert verify(choice, encoder).problems == []
    content = bytearray(blob.read_bytes())
    content[-1] ^= 1
    blob.write_bytes(content)
    with Encoder(choice.path) as encoder:
        assert "pull it again" in verify(choice, encoder).problems[0]


def test_a_hubs_model_must_have_the_digest_of_its_record(hub, tiny_gguf: Path) -> None:
    hub.add("o/r", {"m.gguf": tiny_gguf.read_bytes()})
    pull("hf:o/r")
    choice = choose("hf:o/r")
    with Encoder(choice.path) as encoder:
        report = verify(choice, encoder)
    assert (report.problems, report.cosine) == ([], None)
    assert report.digest == report.expected == choice.hub.sha256
    content = bytearray(choice.path.read_bytes())
    content[-1] ^= 1
    choice.path.write_bytes(content)
    with Encoder(choice.path) as encoder:
        assert f"not {choice.hub.sha256}: delete it and pull it again" in verify(choice, encoder).problems[0]


def test_bge_m3_of_a_hub_has_the_published_vector_by_either_name(
    hub, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = tiny_gguf.read_bytes()
    monkeypatch.setattr(pinned, "BGE_M3", replace(pinned.BGE_M3, gguf_sha256=sha256(tiny_gguf), dims=32))
    hub.add("gpustack/bge-m3-GGUF", {"bge-m3-FP16.gguf": content, "tiny.gguf": content + bytes(1)})
    pull("bge-m3")
    for name in ("bge-m3", pinned.BGE_M3.source):
        choice = choose(name)
        published = published_for(choice)
        assert published is not None
        assert published.model == "bge-m3"
        with Encoder(choice.path) as encoder:
            report = verify(choice, encoder)
        assert report.digest == report.expected == pinned.BGE_M3.gguf_sha256
        assert ["to the one published" in problem for problem in report.problems] == [True]
    pull("hf:gpustack/bge-m3-GGUF/tiny.gguf")
    assert published_for(choose("hf:gpustack/bge-m3-GGUF/tiny.gguf")) is None
