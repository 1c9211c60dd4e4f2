"""A model file's name on a hub: hf:owner/repo/folder/file.gguf@revision; the file and the revision may be left out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from bankml.errors import InputError

PREFIX = "hf:"
MAX_PART = 200  # bytes of one folder's or file's name; 255 is what file systems allow, and a partial file needs more
MAX_FILE = 1000  # bytes of a file's whole name in its repository; 4,095 are what a path may have
SHOWN = 100  # characters of a name in an error message

_SHAPE = re.compile(
    r"hf:(?P<owner>[^/@]+)/(?P<repo>[^/@]+)(?:/(?P<file>.+\.gguf))?(?:@(?P<revision>.+))?", re.IGNORECASE
)
_OWNER_OR_REPO = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,94}[a-z0-9_])?", re.IGNORECASE | re.ASCII)
_REVISION = re.compile(r"[a-z0-9_][a-z0-9_./-]{0,199}", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class HubName:
    """Its parts, each safe as a folder's name. `file` is "" for the repository, `revision` "" for its main branch."""

    owner: str
    repo: str
    file: str = ""
    revision: str = ""

    @classmethod
    def parse(cls, text: str) -> "HubName":
        """The parts of `text`. Raises InputError for what is no such name, or could lead out of a folder."""
        if (shape := _SHAPE.fullmatch(text)) is None:
            raise InputError(f"{_shown(text)} is not a name on a hub: it is hf:owner/repo or hf:owner/repo/file.gguf")
        name = cls(**{part: value or "" for part, value in shape.groupdict().items()})
        if wrong := name.invalid_part():
            raise InputError(
                f"{_shown(text)} is not a name on a hub: its {wrong[0]} {_shown(wrong[1])} is not one that a hub "
                f"allows and a disk takes (at most {MAX_FILE:,} bytes, {MAX_PART} of each part)"
            )
        return name

    @classmethod
    def of_path(cls, parts: Sequence[str]) -> "HubName | None":
        """The name whose `path_parts` these are; None for a path that is nobody's."""
        if len(parts) < 3:
            return None
        repo, _, revision = parts[1].partition("@")
        name = cls(parts[0], repo, "/".join(parts[2:]), unquote(revision))
        return None if name.invalid_part() or name.path_parts != tuple(parts) else name

    @property
    def repository(self) -> str:
        """As the hub writes it: owner/repo."""
        return f"{self.owner}/{self.repo}"

    @property
    def path_parts(self) -> tuple[str, ...]:
        """The folders and the file it is stored as; every name has its own (no repository's name holds an @)."""
        revision = f"@{quote(self.revision, safe='')}" if self.revision else ""
        return (self.owner, self.repo + revision, *self.file.split("/"))

    def invalid_part(self) -> tuple[str, str] | None:
        """The first part that breaks the rules, with what it is called; None for a valid name."""
        checks = {
            "owner": _is_plain(self.owner),
            "repo": _is_plain(self.repo),
            "file": not self.file or _is_file(self.file),
            "revision": not self.revision or self._has_good_revision(),
        }
        return next(((part, getattr(self, part)) for part, good in checks.items() if not good), None)

    def _has_good_revision(self) -> bool:
        """Of the characters that git allows, and short enough for a folder's name together with the repository's."""
        fits = len(self.path_parts[1]) <= MAX_PART
        return bool(_REVISION.fullmatch(self.revision)) and ".." not in self.revision and fits

    def __str__(self) -> str:
        file, revision = f"/{self.file}" if self.file else "", f"@{self.revision}" if self.revision else ""
        return f"{PREFIX}{self.repository}{file}{revision}"


def _is_plain(part: str) -> bool:
    return bool(_OWNER_OR_REPO.fullmatch(part)) and ".." not in part and "--" not in part and not part.endswith(".git")


def _is_file(path: str) -> bool:
    """Relative, printable, without . and .. among its folders, a GGUF file by its ending, and short enough."""
    parts = path.split("/")
    whole = all(part not in ("", ".", "..") and _bytes(part) <= MAX_PART for part in parts) and _bytes(path) <= MAX_FILE
    return whole and path.isprintable() and "\\" not in path and path.lower().endswith(".gguf")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _shown(text: str) -> str:
    return repr(text) if len(text) <= SHOWN else repr(text[:SHOWN] + "…")
