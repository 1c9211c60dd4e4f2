"""A small YAML file that is one mapping, read strictly: no aliases, no key twice, no types but YAML's own."""

from pathlib import Path
from typing import Any

from bankml.errors import StoreError
from bankml.models import regular_file

MAX_BYTES = 1 << 13  # with all its keys and comments it has 2 kB; the worst 8 kB found, opening brackets, take 0.3 s


def read(path: Path) -> dict[str, Any]:
    """The mapping; a file that is absent or empty is an empty one. Raises StoreError with one sentence."""
    return parse(path, text(path))


def text(path: Path) -> str:
    """What the file says as it stands there, a byte order mark too; "" where it is absent. Raises StoreError."""
    try:
        content = regular_file.read(path, MAX_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}): make it a file that you may read") from None
    try:
        return checked(path, content).decode()
    except UnicodeDecodeError as error:
        raise StoreError(f"{path} is not UTF-8 at byte {error.start}: save it as UTF-8") from None


def parse(path: Path, text: str) -> dict[str, Any]:
    """The mapping of what the file at `path` says, or is to say. Raises StoreError as `read`."""
    checked(path, text.encode())
    if not text.strip("\ufeff \n"):
        return {}
    import yaml

    from bankml.library.model.strict_yaml import StrictLoader

    try:
        found = yaml.load(text, StrictLoader)
    except yaml.YAMLError as error:
        raise StoreError(f"{path} is no YAML that is read here ({_reason(error)}): mend that line") from None
    except (ValueError, RecursionError, OverflowError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise StoreError(f"{path} is no YAML that is read here ({reason}): mend it") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise StoreError(f"{path} holds no keys with values: write lines such as `model: all-MiniLM-L6-v2`")
    return found


def checked(path: Path, content: bytes) -> bytes:
    """The content of the file at `path`. Raises StoreError where it is too long to be read."""
    if len(content) > MAX_BYTES:
        raise StoreError(f"{path} has more than {MAX_BYTES:,} bytes, too many for a configuration: take out the rest")
    return content


def _reason(error: Any) -> str:
    """In one line, with the place where it is known, counted from 1."""
    mark = getattr(error, "problem_mark", None)
    what = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed")
    return f"line {mark.line + 1}, column {mark.column + 1}: {what}" if mark else what
