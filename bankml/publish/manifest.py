"""What a published agent says of itself, in `bankml_agents.manifest`.

Of an agent without its private lines it holds nothing that depends on them: no count, no digest.
"""

from dataclasses import asdict

from bankml.publish.count import Count
from bankml.publish.lines import Lines
from bankml.publish.vectors import Vectors


def public() -> dict[str, object]:
    """Without lines."""
    from bankml import __version__

    return {"bankml": __version__, "lines": 0, "exchanges": 0, "embedded": 0}


def whole(lines: Lines, count: Count, vectors: Vectors | None) -> dict[str, object]:
    """With all lines; `lines` has been read."""
    found = {
        **public(),
        **asdict(count),
        "history_sha256": lines.sha256,
        "history_bytes": lines.size,
    }
    if vectors is None:
        return found
    model = {"model": vectors.model, "digest": vectors.digest, "dims": vectors.dims, "licence": vectors.licence.id}
    return {**found, **model}
