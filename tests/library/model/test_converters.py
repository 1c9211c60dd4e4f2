"""Which converters are installed, and where docling's models are looked for."""

from importlib import metadata
from pathlib import Path

import pytest

from bankml.library.model import converters
from bankml.library.model.converters import converters as found


def installed(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Whatever is really installed."""

    def version(name: str) -> str:
        if name in names:
            return "1.2.3"
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(converters.metadata, "version", version)


def test_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch)
    nothing = {"installed": False, "version": None}
    assert found({"HOME": str(tmp_path)}) == {
        "pypdf": nothing,
        "markitdown": nothing,
        "docling": nothing | {"models": False},
    }


def test_as_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, "pypdf", "docling-slim")
    here = found({"HOME": str(tmp_path)})
    assert here["pypdf"] == {"installed": True, "version": "1.2.3"}
    assert here["docling"] == {"installed": True, "version": "1.2.3", "models": False}
    assert not here["markitdown"]["installed"]


@pytest.mark.parametrize(
    ("folder", "variables"),
    [
        (".cache/docling/models/layout", {}),
        ("own/layout", {"DOCLING_ARTIFACTS_PATH": "own"}),
        ("own/models/layout", {"DOCLING_CACHE_DIR": "own"}),
        (".cache/huggingface/hub/models--docling-project--docling-models/snapshots/1", {}),
        ("own/hub/models--ds4sd--docling-models/snapshots/1", {"HF_HOME": "own"}),
        ("own/models--docling-project--docling-layout-heron/snapshots/1", {"HF_HUB_CACHE": "own"}),
    ],
)
def test_doclings_models(tmp_path: Path, folder: str, variables: dict[str, str]) -> None:
    environ = {"HOME": str(tmp_path)} | {name: str(tmp_path / value) for name, value in variables.items()}
    assert not found(environ)["docling"]["models"]
    (tmp_path / folder).mkdir(parents=True)
    assert found(environ)["docling"]["models"]


def test_a_download_that_was_broken_off_is_none(tmp_path: Path) -> None:
    (tmp_path / ".cache/huggingface/hub/models--docling-project--docling-models/snapshots").mkdir(parents=True)
    assert not found({"HOME": str(tmp_path)})["docling"]["models"]
