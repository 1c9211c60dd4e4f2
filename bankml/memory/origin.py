"""Where something that is remembered comes from: who wrote it, with which version, at which commit."""

import os
import re
from pathlib import Path
from typing import Any

import bankml
from bankml.models import regular_file

COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")  # sha1, sha256
LINK = b"gitdir: "
REF = re.compile(rb"ref: (refs/[^\s\0]{1,1000})")
SMALL, PACKED = 4096, 8 << 20  # bytes that are read of a file, and of packed-refs; 100,000 refs are 7 MB


def provenance(by: str, root: bytes = b"", agent: str = "") -> dict[str, Any]:
    """`by`: the command, or a client with its version. `agent`: as its user calls it. What is not known is left out."""
    found = {"by": by, "bankml": bankml.__version__, "agent": agent.strip(), "commit": commit(root)}
    return {name: value for name, value in found.items() if value}


def commit(root: bytes) -> str:
    """The commit that a repository's working folder is at, in hex; "" where there is none or it cannot be told.

    Read as gitrepository-layout(5) says, without git; nothing outside of git's own files is looked at for it.
    """
    if not root:
        return ""
    folder = os.path.join(root, b".git")
    if (link := _read(folder)).startswith(LINK):  # of a worktree, or a submodule
        folder = os.path.join(root, link.removeprefix(LINK))
    head = _read(os.path.join(folder, b"HEAD"))
    if not (named := REF.fullmatch(head)):
        return _hex(head)
    shared = os.path.join(folder, _read(os.path.join(folder, b"commondir")))
    return _ref(folder, named[1]) or _ref(shared, named[1]) or _packed(shared, named[1])


def _ref(folder: bytes, name: bytes) -> str:
    return "" if b".." in name.split(b"/") else _hex(_read(os.path.join(folder, name)))


def _packed(folder: bytes, name: bytes) -> str:
    refs = _read(os.path.join(folder, b"packed-refs"), PACKED)
    found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(name) + rb"$", refs, re.MULTILINE)
    return _hex(found[1]) if found else ""


def _hex(text: bytes) -> str:
    return text.decode() if COMMIT.fullmatch(text) else ""


def _read(path: bytes, most: int = SMALL) -> bytes:
    """Without space around it; b"" of what cannot be read."""
    try:
        return regular_file.read(Path(os.fsdecode(path)), most).strip()
    except (OSError, ValueError):
        return b""
