"""A JSON file whose content is an object, as the files of a Hugging Face folder and bankml's own records are."""

import json
from pathlib import Path
from typing import Any

from bankml.errors import ModelError
from bankml.models import regular_file

MAX_BYTES = 256 << 20  # XLM-R's tokenizer.json has 17 MB


def read(path: Path) -> dict[str, Any]:
    """The object. Raises ModelError, naming the file, when it is absent, too large, no JSON or no object."""
    value = read_any(path)
    if not isinstance(value, dict):
        raise ModelError(f"{path} is not a JSON object: the model's folder is damaged")
    return value


def read_any(path: Path) -> Any:
    """As `read`, for any JSON value."""
    try:
        if len(content := regular_file.read(path, MAX_BYTES + 1)) > MAX_BYTES:
            raise ModelError(f"{path} is too large: at most {MAX_BYTES} bytes are read of such a file; fetch it again")
        return json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{path} cannot be read ({reason}): fetch the model's folder again") from None


def read_if_there(path: Path) -> dict[str, Any]:
    """As `read`; a file that is absent counts as empty."""
    return read(path) if path.exists() else {}


def read_sound(path: Path, limit: int) -> dict[str, Any]:
    """The object; a file that is absent, damaged, foreign or larger than `limit` bytes counts as empty."""
    try:
        with path.open("rb") as file:
            value = json.loads(file.read(limit))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
