"""Folders and files that are other programs' business, and are passed over unless they are asked for by name."""

import os
import re
from collections.abc import Collection

NAMES = frozenset(
    """.git .hg .svn .bzr .jj _darcs CVS node_modules bower_components __pycache__ .venv .tox .nox .eggs .gradle
    .terraform .idea .vscode .mypy_cache .pytest_cache .ruff_cache .hypothesis .ipynb_checkpoints .Trash""".split()
)
# What is built or brought along, where a project says so by one of these files beside it.
OUTPUTS = frozenset("dist vendor build target out _build coverage".split())
PROJECTS = frozenset(
    """package.json pyproject.toml setup.py setup.cfg go.mod Cargo.toml composer.json Gemfile CMakeLists.txt Makefile
    pom.xml build.gradle build.gradle.kts meson.build""".split()
)
FILES = {
    "secret": re.compile(r"\.env(?:\..+)?|.+\.env|id_(?:rsa|dsa|ecdsa|ed25519)", re.IGNORECASE),
    "generated": re.compile(
        r".+\.min\.(?:js|mjs|css)|searchindex\.js|search_index\.js(?:on)?|.+[-.]lock\.(?:json|ya?ml)|npm-shrinkwrap\.json",
        re.IGNORECASE,
    ),
    "picture": re.compile(r".+\.svg", re.IGNORECASE),
}
VENV = "pyvenv.cfg"  # in each of Python's virtual environments, whatever it is called
TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/: in Rust's target/, caches of pip, pytest, Bazel and others
SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"


def named_so(name: str) -> bool:
    """Whether the name alone says it."""
    return name in NAMES or name.endswith(".egg-info")


def is_project(names: Collection[str]) -> bool:
    """Whether a folder with these names builds something."""
    return not PROJECTS.isdisjoint(names)


def file_named_so(name: str) -> str:
    """Why a file of this name is no document; "" where nothing says so."""
    return next((reason for reason, pattern in FILES.items() if pattern.fullmatch(name)), "")


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
