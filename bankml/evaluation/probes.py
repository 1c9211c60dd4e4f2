"""Questions that the Debian FAQ has no answer to: of cooking, sport, medicine, law, letters, nature, the house.

The same 64 in eleven languages, a line each, written for this project; the number of a line is that of its question.
"""

from importlib import resources

from bankml.errors import InputError
from bankml.evaluation import faq

LANGUAGES = (*faq.LANGUAGES, "vi")
COUNT = 64


def probes(language: str) -> list[str]:
    """The questions in a language. Raises InputError for one that they are not written in."""
    if language not in LANGUAGES:
        raise InputError(f"there are no probes in {language!r}; choose among {', '.join(LANGUAGES)}")
    file = resources.files(__package__).joinpath("unanswered", f"{language}.txt")
    return file.read_text(encoding="utf-8").splitlines()
