"""The models that the fuzzer of files begins with are models."""

from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder
from tests.fuzz.seeds import FOLDER, seeds


@pytest.mark.parametrize("name", seeds())
def test_the_corpus_holds_what_the_script_makes(name: str) -> None:
    assert (FOLDER / name).read_bytes() == seeds()[name]


@pytest.mark.filterwarnings("ignore::bankml.ModelWarning")
@pytest.mark.parametrize("name", [path.name for path in sorted(FOLDER.glob("*.seed"))])
def test_a_seed_loads_and_tells_texts_apart(name: str, tmp_path: Path) -> None:
    path = tmp_path / "seed.gguf"
    path.write_bytes((FOLDER / name).read_bytes())
    assert path.stat().st_size < 32 << 10
    with Encoder(path) as encoder:
        vectors = encoder.encode(["why sky", "why why s a b"])
    assert np.isfinite(vectors).all()
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01
