"""The front matter of a model's README.md: the licence that its publisher states there."""

import re
from pathlib import Path

from bankml.models import regular_file
from bankml.utf8 import printable

MAX_BYTES = 1 << 20


def licence(folder: Path) -> str:
    """The identifier, such as "mit", or for "other" the name given to it; "" where nothing is stated."""
    fields = dict(re.findall(r"^(license|license_name):[ \t]*(\S.*?)[ \t\r]*$", _front_matter(folder), re.MULTILINE))
    stated: dict[str, str] = {key: value.strip("'\"[] ") for key, value in fields.items()}
    found = stated.get("license", "")
    return printable(stated.get("license_name", found) if found == "other" else found)


def _front_matter(folder: Path) -> str:
    try:
        text = regular_file.read(folder / "README.md", MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    match = re.match(r"\ufeff?---\s*\n(.*?)\n---\s*(\n|$)", text, re.DOTALL)
    return str(match[1]) if match else ""
