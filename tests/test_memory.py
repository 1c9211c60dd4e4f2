"""Who holds how many bytes (docs/decisions.md), seen from outside: RssAnon and RssFile of fresh processes.

The model has two layers of bge-m3's sizes and its full tables and vocabulary, so that what does not grow with the
layers is there in full; `python -m bench.memory` measures the whole shape.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import cases
from oracle import family, seeded

PROMISED = 750e6  # bytes resident, bge-m3's shape
BGE_M3_LAYERS = 605_257_728  # bytes of its 24 layers in the F16 file
TABLE = 250_002 * 1024 * 2  # bytes of the token table
LONGEST_SECTION = 4_000  # tokens: the longest section of the Debian FAQ has fewer in every language

PREAMBLE = """
import json, sys, time
import numpy as np
from bench import resident
import bankml
bankml.Encoder
base = resident.now()
started = time.process_time()
encoder = bankml.Encoder(sys.argv[1])
rng = np.random.default_rng(0)
def texts(*lengths):
    return [[0, *map(int, rng.integers(4, 250_000, n - 2)), 2] for n in lengths]
"""


def measured(model: Path, code: str) -> dict[str, Any]:
    """What `code` left in the dict `out`, after PREAMBLE, in a process of its own."""
    script = f"{PREAMBLE}\nout = {{}}\n{code}\nprint(json.dumps(out))"
    done = subprocess.run([sys.executable, "-c", script, str(model)], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, models_home: Path) -> Iterator[Path]:
    """Two layers of bge-m3, with its tables: 603 MB, made in seconds.

    The token table's 512 MB are a hole, whose pages count as resident like any others once they are touched.
    """
    path = tmp_path_factory.mktemp("memory") / "large.gguf"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKML_HOME", str(models_home))  # the vocabulary is downloaded there once
        family.make(path, family.FAMILY["bge-m3"], ids=())
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seeded.tiny(tmp_path_factory.mktemp("memory") / "small.gguf")


def test_all_but_the_layers_leaves_room_for_bge_m3(large: Path) -> None:
    """Texts of 512 tokens and one as long as any section: with 24 layers instead of 2 it stays below the promise."""
    code = f"""
resident.forget_peak()
encoder.encode_ids(texts(*[512] * 4))
encoder.encode_ids(texts({LONGEST_SECTION}))
out["peak"] = resident.now().peak
"""
    beside_layers = measured(large, code)["peak"] - cases.layer_bytes(large)
    assert cases.layer_bytes(large) == BGE_M3_LAYERS // 12
    assert beside_layers <= PROMISED - BGE_M3_LAYERS  # 135 MB of 145 at the most demanding moment, 66 afterwards


def test_token_rows_do_not_become_resident(large: Path) -> None:
    """10,000 rows from all over the table: they lie on nearly as many of its 125,000 pages, among neighbours."""
    code = """
encoder.encode_ids(texts(8))
out["before"] = resident.now().file
for _ in range(10):
    encoder.encode_ids(texts(*[50] * 20))
out["grown"] = resident.now().file - out["before"]
"""
    found = measured(large, code)
    assert found["grown"] <= 4e6  # 39 MB if only the pages of the rows came in, 512 MB with their neighbours
    assert found["before"] < TABLE / 4


def test_the_first_vector_comes_within_a_second(large: Path) -> None:
    """CPU time, because other processes use the same cores; the missing 22 layers take less than half a second."""
    code = "encoder.encode(['why is the sky blue?']); out['cpu'] = time.process_time() - started"
    assert min(measured(large, code)["cpu"] for _ in range(3)) < 0.6


def test_what_a_model_held_is_returned_by_close(large: Path) -> None:
    code = """
encoder.close()
after = []
for _ in range(6):
    encoder = bankml.Encoder(sys.argv[1])
    encoder.encode_ids(texts(512))
    held = resident.now()
    encoder.close()
    after.append(resident.now().total)
out.update(base=base.total, held=held.total, after=after)
"""
    found = measured(large, code)
    assert found["held"] - found["after"][-1] > cases.layer_bytes(large)
    assert (
        max(found["after"]) - found["base"] < 24e6
    )  # freed blocks that the allocator keeps: 26 to 50 MB; six vocabularies alone are 138


def test_many_texts_in_one_call_cost_only_their_results(small: Path) -> None:
    """100,000 texts: the peak grows by the vectors, twice while they are copied to numpy, not by their activations."""
    code = """
many = [f"text {i} of the sea" for i in range(100_000)]
encoder.encode(many[:2000])
resident.forget_peak()
before = resident.now()
vectors = encoder.encode(many)
out.update(grown=resident.now().peak - before.total, results=vectors.nbytes, shape=vectors.shape)
"""
    found = measured(small, code)
    assert found["shape"] == [100_000, 64]
    assert found["grown"] < 2 * found["results"] + 12e6  # x alone would be 230 MB for the whole call
