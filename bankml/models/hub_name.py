"""A model file's name on a hub: hf:owner/repo/folder/file.gguf@revision; the file and the revision may be left out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from bankml.errors import InputError

PREFIX = "hf:"
MAX_FILE = 1000  # bytes of a file's name with its folders; 4,096 is what systems allow of a whole path
MAX_PART = 200  # bytes of one folder's or file's name; 255 is what file systems allow, and a partial file needs more

_SHAPE = re.compile(
    r"hf:(?P<owner>[^/@]+)/(?P<repo>[^/@]+)(?:/(?P<file>.+\.gguf))?(?:@(?P<revision>.+))?", re.IGNORECASE
)
_OWNER_OR_REPO = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,94}[a-z0-9_])?", re.IGNORECASE | re.ASCII)
_REVISION = re.compile(r"[a-z0-9_][a-z0-9_./-]{0,199}", re.IGNORECASE | re.ASCII)
_F16 = re.compile(r"(?<![a-z0-9])fp?16(?![a-z0-9])", re.IGNORECASE)


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
            raise InputError(f"{text!r} is not a name on a hub: it is hf:owner/repo or hf:owner/repo/file.gguf")
        name = cls(**{part: value or "" for part, value in shape.groupdict().items()})
        if wrong := name.invalid_part():
            raise InputError(
                f"{text!r} is not a name on a hub: its {wrong[0]} {wrong[1]!r} is not one that a hub allows"
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
            "revision": not self.revision or (_REVISION.fullmatch(self.revision) and ".." not in self.revision),
        }
        return next(((part, getattr(self, part)) for part, good in checks.items() if not good), None)

    def __str__(self) -> str:
        file, revision = f"/{self.file}" if self.file else "", f"@{self.revision}" if self.revision else ""
        return f"{PREFIX}{self.repository}{file}{revision}"


def preferred(files: Sequence[str]) -> str | None:
    """The file that a repository's name alone means: its only one, else the only one that calls itself F16 (or FP16).

    F16 holds what was trained, and every number of it is used as it is; None when the choice is the user's.
    """
    candidates = files if len(files) == 1 else [file for file in files if _F16.search(file.rpartition("/")[2])]
    return candidates[0] if len(candidates) == 1 else None


def _is_plain(part: str) -> bool:
    return bool(_OWNER_OR_REPO.fullmatch(part)) and ".." not in part and "--" not in part and not part.endswith(".git")


def _is_file(path: str) -> bool:
    """Relative, printable, without . and .. among its folders, and a GGUF file by its ending."""
    parts = path.split("/")
    whole = all(part not in ("", ".", "..") and len(part.encode("utf-8", "replace")) <= MAX_PART for part in parts)
    short = len(path.encode("utf-8", "replace")) <= MAX_FILE
    return whole and short and path.isprintable() and "\\" not in path and path.lower().endswith(".gguf")
