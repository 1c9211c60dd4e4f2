"""Short names that people write for an encoder, and the repository of a hub that each leads to.

No digest stands here: which bytes a repository holds is known once they came, and the record of the pull keeps it.
"""

from dataclasses import dataclass

from bankml.models.hub_name import HubName


@dataclass(frozen=True)
class ShortName:
    """A model by the name it is published under. `aliases` are in lower case; `runs`: the engine has its graph.

    `dims`: the length of its vectors as its card gives it, to be told of a model that is not here.
    """

    name: str
    owner: str
    dims: int
    aliases: tuple[str, ...] = ()
    runs: bool = True

    @property
    def source(self) -> HubName:
        """Its repository."""
        return HubName(self.owner, self.name)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that means it, but for those that begin with hf:, in lower case."""
        return (self.name.casefold(), self.source.repository.casefold(), *self.aliases)


# Aliases are what Ollama's library calls the model, and what its publisher's own name is shortened to.
SHORT_NAMES = (
    ShortName("bge-small-en-v1.5", "BAAI", 384),
    ShortName("bge-base-en-v1.5", "BAAI", 768),
    ShortName("bge-large-en-v1.5", "BAAI", 1024, ("bge-large",)),
    ShortName("bge-small-en", "BAAI", 384),
    ShortName("bge-base-en", "BAAI", 768),
    ShortName("bge-large-en", "BAAI", 1024),
    ShortName("all-MiniLM-L12-v2", "sentence-transformers", 384, ("all-minilm:33m",)),
    ShortName("paraphrase-MiniLM-L6-v2", "sentence-transformers", 384),
    ShortName("paraphrase-multilingual-MiniLM-L12-v2", "sentence-transformers", 384),
    ShortName("multi-qa-MiniLM-L6-cos-v1", "sentence-transformers", 384),
    ShortName("multilingual-e5-base", "intfloat", 768),
    ShortName("multilingual-e5-large", "intfloat", 1024),
    ShortName("e5-small-v2", "intfloat", 384),
    ShortName("e5-base-v2", "intfloat", 768),
    ShortName("e5-large-v2", "intfloat", 1024),
    ShortName("gte-small", "thenlper", 384),
    ShortName("gte-base", "thenlper", 768),
    ShortName("gte-large", "thenlper", 1024),
    ShortName("snowflake-arctic-embed-xs", "Snowflake", 384, ("snowflake-arctic-embed:22m",)),
    ShortName("snowflake-arctic-embed-s", "Snowflake", 384, ("snowflake-arctic-embed:33m",)),
    ShortName("snowflake-arctic-embed-m", "Snowflake", 768, ("snowflake-arctic-embed:110m",)),
    ShortName("snowflake-arctic-embed-l", "Snowflake", 1024, ("snowflake-arctic-embed", "snowflake-arctic-embed:335m")),
    ShortName(
        "snowflake-arctic-embed-l-v2.0",
        "Snowflake",
        1024,
        ("snowflake-arctic-embed2", "snowflake-arctic-embed2:568m", "arctic-embed-l-v2.0"),
    ),
    ShortName("mxbai-embed-large-v1", "mixedbread-ai", 1024, ("mxbai-embed-large", "mxbai-embed-large:335m")),
    # Known so that they are refused by what their config.json says, and not as a name that nobody knows.
    ShortName("nomic-embed-text-v1.5", "nomic-ai", 768, ("nomic-embed-text", "nomic-embed-text:v1.5"), runs=False),
    ShortName("nomic-embed-text-v1", "nomic-ai", 768, runs=False),
    ShortName("modernbert-embed-base", "nomic-ai", 768, runs=False),
    ShortName("all-mpnet-base-v2", "sentence-transformers", 768, runs=False),
)

RUN = tuple(known.name for known in SHORT_NAMES if known.runs)
"""Those that can be pulled."""

_BY_NAME = {name: known for known in SHORT_NAMES for name in known.names}


def find(name: str) -> ShortName | None:
    """The model of this name or alias, in any case; `:latest` goes without saying."""
    return _BY_NAME.get(name.strip().casefold().removesuffix(":latest"))


def of(source: HubName) -> ShortName | None:
    """The short name that leads to this repository's main state; None for a file of it or another revision."""
    known = None if source.file or source.revision else _BY_NAME.get(source.repository.casefold())
    return known if known and known.source.repository.casefold() == source.repository.casefold() else None
