"""The process that memory.py measures: a model loaded, a first vector, then the texts from stdin; figures on stdout.

`python -m bench.footprint FILE MAX_TOKENS < texts.json`. What it imports before bankml is small and counts as ours.
"""

import sys
import time

from bench import resident

QUERY = "why is the sky blue?"
CALL = 64  # texts a call


def run(path: str, max_tokens: int | None) -> dict[str, object]:
    """Seconds and bytes. The texts are read after the first vector, so that start-up is bankml's own."""
    start = time.perf_counter()
    import bankml

    encoder_class = bankml.Encoder
    imported = time.perf_counter()
    encoder = encoder_class(path)
    loaded = time.perf_counter()
    encoder.encode([QUERY])
    first = time.perf_counter()
    after_first = resident.now()
    tokens = embed(encoder, max_tokens)
    return {
        "import": imported - start,
        "load": loaded - imported,
        "first_vector": first - imported,
        "embedding": time.perf_counter() - first,
        "tokens": tokens,
        "after_first": vars(after_first),
        "after_all": vars(resident.now()),
    }


def embed(encoder: object, max_tokens: int | None) -> int:
    """All texts from stdin; returns how many tokens they were."""
    import json

    texts, tokens = json.load(sys.stdin), 0
    for at in range(0, len(texts), CALL):
        tokens += int(encoder.encode_full(texts[at : at + CALL], max_tokens=max_tokens).tokens.sum())  # type: ignore[attr-defined]
        if sys.stderr.isatty():
            print(f"\r{min(at + CALL, len(texts))} of {len(texts)} sections", end="", file=sys.stderr, flush=True)
    if texts and sys.stderr.isatty():
        print(file=sys.stderr)
    return tokens


if __name__ == "__main__":
    import json

    print(json.dumps(run(sys.argv[1], int(sys.argv[2]) or None)))
