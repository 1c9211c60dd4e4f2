"""What a model is said to need, beside what it takes: RssAnon and RssFile of fresh processes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bankml.models import header
from bankml.need import Need, need
from oracle import family, seeded

MEASURED = """
import json, sys
from bench import resident
import numpy as np, bankml
bankml.Encoder
before = resident.now()
encoder = bankml.Encoder(sys.argv[1], threads=2)
length = encoder.context_length
resident.forget_peak()
encoder.encode_ids([[5] * length] * max(1, 1024 // length))
print(json.dumps(resident.now().peak - before.total))
"""


@pytest.fixture(scope="module")
def bge_m3_cut(tmp_path_factory: pytest.TempPathFactory, models_home: Path) -> Iterator[Path]:
    """Two layers of bge-m3's shape, with its vocabulary and all of its 8,192 positions."""
    path = tmp_path_factory.mktemp("need") / "bge-m3-cut.gguf"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKML_HOME", str(models_home))
        family.make(path, family.FAMILY["bge-m3"], ids=[5])
    yield path
    path.unlink()


@pytest.mark.parametrize("model", ["minilm", "e5", "bge_m3_cut"])
def test_a_model_takes_what_it_is_said_to_need(request: pytest.FixtureRequest, model: str) -> None:
    """Its longest pass included; to 20 %."""
    path = request.getfixturevalue(model)
    done = subprocess.run([sys.executable, "-c", MEASURED, path], stdout=subprocess.PIPE, text=True, check=True)
    said, taken = need(header.read(path), 2).total, json.loads(done.stdout)
    print(f"{model}: {said / 1e6:.1f} MB said, {taken / 1e6:.1f} MB taken")
    assert said == pytest.approx(taken, rel=0.2)


def test_the_parts_of_a_small_model(tmp_path: Path) -> None:
    path = seeded.tiny(tmp_path / "tiny.gguf", layers=3, hidden=64, ffn=128)
    found = need(header.read(path), 2)
    assert found.weights == 3 * (4 * 64 * 64 + 2 * 64 * 128) * 2
    assert found.total == found.weights + found.tables + found.workspace
    assert need(header.read(path), 4).workspace > found.workspace


def test_a_file_that_says_little_needs_little(tmp_path: Path) -> None:
    bare = header.Header({"general.architecture": "bert", "bert.embedding_length": "wide"}, [], 0, 0.0)
    assert need(bare, 0).weights == need(bare, 0).tables == 0
    assert Need().total == 0
