"""Models whose short name means one file of a hub, known by its sha256."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pinned:
    """A model that a hub has: `source` is its name there, and only a file of this sha256 counts as it."""

    name: str
    aliases: tuple[str, ...]
    source: str
    licence: str
    dims: int
    context_length: int
    pooling: str
    size: int
    gguf_sha256: str


# The very blob that Ollama's library gives for bge-m3.
BGE_M3 = Pinned(
    name="bge-m3",
    aliases=("bge-m3:latest", "bge-m3:567m", "baai/bge-m3"),
    source="hf:gpustack/bge-m3-GGUF/bge-m3-FP16.gguf",
    licence="MIT",
    dims=1024,
    context_length=8192,
    pooling="cls",
    size=1_157_671_200,
    gguf_sha256="daec91ffb5dd0c27411bd71f29932917c49cf529a641d0168496c3a501e3062c",
)


def find(name: str) -> Pinned | None:
    """The model of this name or alias, in any case."""
    return BGE_M3 if name.strip().casefold() in (BGE_M3.name, *BGE_M3.aliases) else None
