"""Presets of a knowledge base: a model with all that decides its vectors, under one name.

A wrong pooling or a missing prefix gives vectors that look as good as others and rank badly, with no error anywhere. So
a preset says both, and tests compare what it says with the model's file and with the prefixes of its family.
"""

from dataclasses import dataclass

from bankml.models import same
from bankml.models.prefixes import NONE, Prefixes

CUSTOM = "custom"  # search.vector.model decides, or what the knowledge base has recorded


@dataclass(frozen=True)
class Profile:
    """`model` is what `bankml.load` takes; `dims` the length of its vectors; `size` the bytes of its file, about.

    `dtype` is that of most weights, in the file that a pull brings; a GGUF of the user's own may have another one.
    `graph`: of a model that the engine does not run.
    """

    name: str
    model: str
    dims: int
    languages: str
    size: int
    dtype: str
    pooling: str
    prefixes: Prefixes = NONE
    graph: str = ""

    @property
    def refusal(self) -> str:
        """Why it cannot be chosen, in one sentence; "" where it can."""
        if not self.graph:
            return ""
        return (
            f"the preset {self.name} ({self.model}) needs support of the engine that is not there yet: its graph is "
            f"{self.graph}; choose {', '.join(USABLE[:-1])} or {USABLE[-1]}"
        )


_QUERY = Prefixes(query="query: ")
_REPRESENT = Prefixes(query="Represent this sentence for searching relevant passages: ")

PROFILES = (
    Profile("all-minilm-l6-v2", "all-MiniLM-L6-v2", 384, "English", 46_220_672, "F16", "mean"),
    Profile(
        "multilingual-e5-small",
        "multilingual-e5-small",
        384,
        "about 100",
        73_816_704,
        "Q4_0",
        "mean",
        Prefixes("passage: ", "query: "),
    ),
    Profile("bge-small-en", "bge-small-en-v1.5", 384, "English", 67_000_000, "F16", "cls", _REPRESENT),
    Profile("bge-m3", "bge-m3", 1024, "over 100", 1_157_671_200, "F16", "cls"),
    Profile("arctic-embed-2-l", "snowflake-arctic-embed-l-v2.0", 1024, "74", 1_157_700_000, "F16", "cls", _QUERY),
    # What the engine would have to learn: rotary positions and gated layers, local attention, other tokenizers.
    Profile(
        "granite-small-r2",
        "hf:ibm-granite/granite-embedding-small-english-r2",
        384,
        "English",
        95_000_000,
        "F16",
        "cls",
        graph="ModernBERT's",
    ),
    Profile(
        "granite-97m-multilingual",
        "hf:ibm-granite/granite-embedding-97m-multilingual-r2",
        384,
        "over 200",
        195_000_000,
        "F16",
        "cls",
        graph="ModernBERT's",
    ),
    Profile(
        "arctic-embed-m-v2",
        "hf:Snowflake/snowflake-arctic-embed-m-v2.0",
        768,
        "74",
        611_000_000,
        "F16",
        "cls",
        _QUERY,
        graph="GTE's",
    ),
)
USABLE = tuple(profile.name for profile in PROFILES if not profile.graph)

_BY_NAME = {profile.name: profile for profile in PROFILES}


def find(name: str) -> Profile | None:
    """The preset of this name, in any case; None for another, `custom` too."""
    return _BY_NAME.get(name.strip().casefold())


def of_model(model: str) -> Profile | None:
    """The preset of the model that goes by this name, if there is one."""
    return next((profile for profile in PROFILES if same(profile.model, model)), None)
