"""`--as-of` of `bankml query`."""

from collections.abc import Mapping

import typer


def instant_of(as_of: str | None, refused: Mapping[str, object]) -> int | None:
    """The time, microseconds since 1970; None where none is given.

    Raises InputError for what is none, and a usage error where any option of `refused` is given, too: nothing of then
    is ranked by meaning, explained, or of another namespace than the project's.
    """
    if as_of is None:
        return None
    from bankml.memory.instant import parse

    if given := [name for name, value in refused.items() if value]:
        raise typer.BadParameter(
            f"what records said at a time is found in the project by words alone: leave out {given[0]}",
            param_hint="'--as-of'",
        )
    return parse(as_of, "--as-of")
