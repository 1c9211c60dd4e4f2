"""Libraries get the same job, and what they find is compared with the truth."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import peers, shelved
from bench.job import Job
from bench.nearest import random_rows
from bench.results import ROOT

TEXTS = ["An apple a day.", "The harbour at night.", "A quiet river.", "Snow on the hills."]


def job() -> Job:
    return Job(TEXTS, ["apple", "harbour", "hills"], peers.MODEL, warm=1, k=2)


def test_a_job_comes_back_as_it_was(tmp_path: Path) -> None:
    vectors, asked = random_rows(4, 8), random_rows(3, 8)
    job().write(tmp_path, vectors, asked)
    found, rows, questions = Job.read(tmp_path)
    assert found == job()
    assert (rows.tobytes(), questions.tobytes()) == (vectors.tobytes(), asked.tobytes())


def test_bankml_in_a_process_of_its_own_and_a_peer_that_is_not_here(stocked_home, tmp_path: Path) -> None:
    rows = random_rows(4, 384)
    found = peers.measured(job(), rows, rows[[0, 1, 3]], tmp_path / "no" / "python")
    (stage,) = found["bankml"]["stages"]
    assert {kind: search["found"][2][0] for kind, search in stage["searches"].items()} == dict.fromkeys(peers.KINDS, 3)
    assert all(len(search["milliseconds"]) == 2 for search in stage["searches"].values())
    assert peers.recall(stage["searches"]["meaning"]["found"], peers.exact(rows, rows[[0, 1, 3]], 2)) == 1
    assert [sentence.split(":")[0] for sentence in peers.missing(found)] == ["chromadb", "lancedb", "txtai"]
    assert "make .venv/.bench-library" in peers.missing(found)[0]


def test_a_peer_that_fails_is_told_and_bankml_never_hides_its_own_fault(tmp_path: Path) -> None:
    assert "job.json" in peers.run("lancedb", tmp_path, Path(sys.executable))["missing"]
    with pytest.raises(RuntimeError, match=r"bankml: .*job\.json"):
        peers.run("bankml", tmp_path, tmp_path)


def test_a_peers_process_loads_nothing_of_bankml() -> None:
    code = "import sys, bench.shelved; print([name for name in sys.modules if name.startswith(('bankml', 'oracle'))])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_files_are_found_and_synced(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_text(json.dumps(1))
    assert shelved.files(tmp_path) == [tmp_path / "a" / "b"]
    shelved.sync(tmp_path)


def test_more_texts_than_sentences() -> None:
    assert peers.numbered(TEXTS, 4) == TEXTS
    more = peers.numbered(TEXTS, 60)
    assert len(set(more)) == 60
    assert more == peers.numbered(TEXTS, 60)
    rows = random_rows(4, 384)
    spread = peers.spread(rows, 60)
    assert spread[:4].tobytes() == rows.tobytes()
    np.testing.assert_allclose(np.linalg.norm(spread, axis=1), 1, rtol=1e-5)
    cosines = (spread[4:] @ rows.T).max(axis=1)
    assert np.all((cosines > 0.85) & (cosines < 0.93))


def test_the_table() -> None:
    search = {"first": 12.0, "milliseconds": [1.0, 2.0, 3.0]}
    stage = {"made": "HNSW", "seconds": 1.25, "searches": {"meaning": search}, "recall": 0.5}
    library = {"version": "1.0", "stages": [stage | {"bytes": 2_000_000, "resident_bytes": 3_000_000}]}
    shown = peers.table({"libraries": {"lancedb": library, "txtai": {"missing": "not installed"}}})
    assert shown.splitlines()[2:] == ["| lancedb 1.0, HNSW | 1.2 | - | 2.0 (2.9) | - | 12 | 0.500 | 2 | 3 |"]
