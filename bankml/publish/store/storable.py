"""Texts as PostgreSQL can hold them: it has no NUL, and no half of a surrogate pair."""

from typing import Any

from bankml.utf8 import whole


def storable(value: Any) -> Any:
    """The same with U+FFFD for each character that cannot be stored, in any str of it, key or element."""
    if isinstance(value, str):
        plain = value if value.isascii() else str(whole(value))
        return plain.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return [storable(item) for item in value] if isinstance(value, list | tuple) else value
