"""`bankml history verify`: the vectors of a history, counted line by line."""

import typer

from bankml.cli.history import File
from bankml.cli.output import AsJson, write_facts, write_json
from bankml.sizes import human


def verify(file: File, json: AsJson = False) -> None:
    """Read every line of FILE.emb and count it; the exit status is 1 where one is bad, until `compact` removes it."""
    from bankml.cache import Cache
    from bankml.history.file import opened
    from bankml.history.indexing import cache_path

    with opened(file):  # a FILE that is mistyped has no bad vectors
        found = Cache(cache_path(file)).verify()
    good = found.good.most_common()
    if json:
        by_weights = [{"digest": digest, "dims": dims, "lines": lines} for (digest, dims), lines in good]
        write_json({"good": by_weights, "repeated": found.repeated, "bad": dict(found.bad), "size": found.size})
    else:
        vectors = "; ".join(f"{lines:,} of {dims} dimensions by {digest[:12]}" for (digest, dims), lines in good)
        by_why = ", ".join(f"{lines:,} {why}" for why, lines in found.bad.most_common())
        write_facts(
            {
                "file": f"{cache_path(file)}, {human(found.size)}",
                "vectors": vectors or "none",
                "repeated": f"{found.repeated:,}, which a later line replaces",
                "bad lines": by_why or "none",
            },
            16,
        )
    if found.bad:
        raise typer.Exit(1)
