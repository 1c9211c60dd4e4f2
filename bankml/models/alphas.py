"""How much meaning counts beside words when the two are fused: a property of a model, as its prefixes are.

Only models that `bankml eval` was run with are in the table; docs/decisions.md ("Which fusion each command uses") has
the figures.
"""

from bankml.models import presets

UNMEASURED = 0.5  # not below words alone in any language of any model that was measured
KNOWN = 0.7  # of a model that knows the language
ENGLISH, EVERY = "English alone", "every language of the evaluation"

LANGUAGES = {"all-minilm-l6-v2": ENGLISH, "multilingual-e5-small": EVERY}


def alpha(model: str, english: bool) -> float:
    """The weight of meaning in a convex combination. `english`: whether the query and the texts are."""
    preset = presets.find(model)
    known = LANGUAGES.get(preset.name) if preset else None
    return KNOWN if known == EVERY or (known == ENGLISH and english) else UNMEASURED


def knows(model: str, language: str) -> bool | None:
    """Whether a model knows a language ("en", …); None where nobody has measured it."""
    preset = presets.find(model)
    known = LANGUAGES.get(preset.name) if preset else None
    return None if known is None else known == EVERY or language == "en"
