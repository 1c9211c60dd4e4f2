"""Strings that JSON can carry: what Python read from paths, arguments or bodies may hold lone surrogates."""

from typing import Any


def whole(value: Any) -> Any:
    """The same with each lone surrogate in any str, key or element as U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value
