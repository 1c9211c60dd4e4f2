"""Which packages that read documents are installed, told without importing any of them."""

import os
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = {"pypdf": ("pypdf",), "markitdown": ("markitdown",), "docling": ("docling", "docling-slim")}


def converters(environ: Mapping[str, str] = os.environ) -> dict[str, dict[str, Any]]:
    """Of each package `installed` and `version`; of docling `models` too: whether its own are on this machine."""
    found = {name: _package(names) for name, names in PACKAGES.items()}
    found["docling"]["models"] = any(_holds_something(folder) for folder in _docling_models(environ))
    return found


def _package(names: tuple[str, ...]) -> dict[str, Any]:
    for name in names:
        try:
            return {"installed": True, "version": metadata.version(name)}
        except metadata.PackageNotFoundError:
            continue
    return {"installed": False, "version": None}


def _docling_models(environ: Mapping[str, str]) -> list[Path]:
    """Where docling looks: the folder of its own variable, of `docling-tools models download`, and the hub's cache."""
    home = Path(environ.get("HOME") or "~").expanduser()
    cache = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    own = environ.get("DOCLING_ARTIFACTS_PATH")
    folders = [Path(own)] if own else []
    folders.append(Path(environ.get("DOCLING_CACHE_DIR") or home / ".cache" / "docling") / "models")
    hub = environ.get("HF_HUB_CACHE") or Path(environ.get("HF_HOME") or cache / "huggingface") / "hub"
    return [
        *folders,
        *_folders(Path(hub), "models--docling-project--*"),
        *_folders(Path(hub), "models--ds4sd--docling*"),
    ]


def _folders(folder: Path, pattern: str) -> list[Path]:
    return [found / "snapshots" for found in folder.glob(pattern)]


def _holds_something(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except OSError:
        return False
