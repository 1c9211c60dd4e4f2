"""Whether a model knows the script that a query is written in."""

import unicodedata
from collections.abc import Sequence

from bankml.models import alphas

REMEDY = "`bankml config set search.vector.preset multilingual-e5-small --reindex`"


def latin(text: str) -> bool:
    """Whether half of the letters or more are Latin; True where there are none."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(unicodedata.name(letter, "").startswith(LATIN) for letter in letters) >= len(letters)


def unread(query: str, models: Sequence[str]) -> str:
    """What to say where one of the models knows English alone, and the query cannot be that; else ""."""
    if latin(query):
        return ""
    return next(
        (f"{model} knows English alone: {REMEDY}" for model in models if alphas.knows(model, OTHER) is False), ""
    )


LATIN = ("LATIN ", "FULLWIDTH LATIN ")  # begin the names of its letters
OTHER = "und"  # ISO 639: any language that was not determined; only that it is not English counts
