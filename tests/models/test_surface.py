"""The package's own few names."""

import subprocess
import sys
from pathlib import Path

import pytest

from bankml import models
from bankml.errors import ModelError


def test_pull_gives_a_file_whatever_kind_the_name_is(stocked_home: Path, store, tiny_gguf: Path) -> None:
    blob = store.add("registry.ollama.ai/me/tiny/latest", tiny_gguf)
    assert models.pull("all-MiniLM-L6-v2") == stocked_home / "models" / "all-minilm-l6-v2-f16.gguf"
    assert models.pull("me/tiny") == blob
    assert models.pull(str(tiny_gguf)) == tiny_gguf
    with pytest.raises(ModelError, match="no model 'nothing'"):
        models.pull("nothing")


def test_resolve_pulls_what_is_missing_unless_that_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    with pytest.raises(
        ModelError, match="all-minilm-l6-v2 is not on this machine and BANKML_SKIP_MODEL_DOWNLOAD forbids"
    ):
        models.resolve()


def test_choosing_and_listing_load_nothing_heavy(stocked_home: Path) -> None:
    script = (
        "import sys; from bankml import models; models.choose(); models.resolve('e5-small')\n"
        "heavy = ('numpy', 'gguf', 'rich', 'huggingface_hub', 'bankml._engine')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
