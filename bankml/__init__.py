"""bankml: text embeddings on the CPU you own.

import bankml
vectors = bankml.load("all-minilm-l6-v2").encode(["a text", "another"])   # float32 (2, 384), unit length
"""

from typing import TYPE_CHECKING, Any

from bankml.errors import (
    BusyError,
    Error,
    FileChangedError,
    InputError,
    ModelError,
    ModelWarning,
    NotFiniteError,
    ShortError,
    StoreError,
    TooLongError,
)

if TYPE_CHECKING:
    from bankml.encoder import Encoder, load

    __version__: str

__all__ = [
    "BusyError",
    "Encoder",
    "Error",
    "FileChangedError",
    "InputError",
    "ModelError",
    "ModelWarning",
    "NotFiniteError",
    "ShortError",
    "StoreError",
    "TooLongError",
    "__version__",
    "load",
]


def __getattr__(name: str) -> Any:
    """The encoder comes with numpy and the engine, so it is imported when it is first asked for."""
    if name in ("Encoder", "load"):
        import bankml.encoder as encoder

        return getattr(encoder, name)
    if name == "__version__":
        from importlib.metadata import version

        return version("bankml")
    raise AttributeError(f"module 'bankml' has no attribute {name!r}")
