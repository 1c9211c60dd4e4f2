"""The model a command uses, with a note of which it is and why."""

from typing import TYPE_CHECKING

from bankml.cli.output import note

if TYPE_CHECKING:
    from bankml.encoder import Encoder
    from bankml.models import Choice


def choose(name: str | None) -> "Choice":
    """The model of this name, or the default one; pulled as `bankml.models.resolve` does."""
    from bankml import models

    choice = models.choose(name)
    if choice.present or choice.preset or choice.repository:  # told before it is pulled, which may take minutes
        note(f"model {choice.name}: {choice.reason}")
    return models.resolve(name)


def load(name: str | None) -> "Encoder":
    """The encoder of `choose(name)`."""
    choice = choose(name)
    from bankml.encoder import chosen

    return chosen(choice)
