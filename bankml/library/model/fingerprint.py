"""What a stored vector is made by, in 16 digits: vectors of two recipes are never compared."""

import hashlib
import json

from bankml._engine import NUMERICS
from bankml.embedders.embedder import Embedder
from bankml.store.passage import TEXT_RECIPE

DIGITS = 16  # of 64: two of a user's few recipes agree by chance once in 2 ** 64


def fingerprint(embedder: Embedder) -> str:
    """The first 16 hex digits of a sha256 over all that decides a vector beside the text itself.

    That is: who runs the model, its file, the type of its weights, its pooling, both prefixes, how a passage becomes a
    text, and the version of the engine's numerics. Not: the backend and the number of threads, whose vectors may be
    compared, the length of chunks, and the version of an Ollama, which changes every week and its vectors hardly ever.
    """
    parts = {
        "provider": embedder.provider,
        "digest": embedder.digest,
        "dtype": embedder.dtype,
        "pooling": embedder.pooling,
        "document_prefix": embedder.document_prefix,
        "query_prefix": embedder.query_prefix,
        "text": TEXT_RECIPE,
        "numerics": NUMERICS if embedder.provider == "native" else 0,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:DIGITS]
