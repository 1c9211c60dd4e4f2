"""Folders that are other programs' business, and are never entered unless they are named."""

import os
from collections.abc import Collection

NAMES = frozenset(
    """.git .hg .svn .bzr .jj _darcs CVS node_modules bower_components __pycache__ .venv .tox .nox .eggs .gradle
    .terraform .idea .vscode .mypy_cache .pytest_cache .ruff_cache .hypothesis .ipynb_checkpoints .Trash""".split()
)
VENV = "pyvenv.cfg"  # in each of Python's virtual environments, whatever it is called
TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/: in Rust's target/, caches of pip, pytest, Bazel and others
SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"


def named_so(name: str) -> bool:
    """Whether the name alone says it."""
    return name in NAMES or name.endswith(".egg-info")


def marked_so(folder: str, names: Collection[str]) -> bool:
    """Whether what is in it says so."""
    return VENV in names or (TAG in names and _signed(os.path.join(folder, TAG)))


def _signed(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        try:
            return file.read(len(SIGNATURE)) == SIGNATURE
        except OSError:
            return False
