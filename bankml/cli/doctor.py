"""`bankml doctor`."""

from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli.output import AsJson, note, write_facts, write_json
from bankml.cli.store import Db
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.library.upkeep.doctor import Finding

WIDTH = 12
SHOWN = 10  # examples of each check


def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Make anew what is derived; texts and documents stay as they are.")
    ] = False,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Look at everything that can be wrong with the knowledge base and say what to run; exit 1 when anything is."""
    from bankml.library.upkeep import doctor
    from bankml.store import place

    settings = Settings.read()
    path = place(db, settings)
    done = doctor.repair(path, settings) if repair else []
    found = doctor.examine(path, settings)
    well = all(one.ok for one in found)
    if json:
        write_json({"db": str(path), "ok": well, "checks": [one.object() for one in found], "repaired": done})
    else:
        for sentence in done:
            note(sentence)
        write_facts({one.check: _said(one) for one in found}, WIDTH)
    if not well:
        raise typer.Exit(1)


def _said(found: "Finding") -> str:
    if found.ok:
        return f"ok: {found.found}"
    shown = "; ".join(found.examples[:SHOWN]) + ("; …" if found.wrong > SHOWN else "")
    return f"WRONG: {found.found} ({found.wrong:,}): {shown}{_to_do(found.remedy)}"


def _to_do(remedy: str) -> str:
    """A remedy is a command, or a sentence, or told already."""
    return f". Run {remedy}" if remedy.startswith("`") else f". {remedy[:1].upper()}{remedy[1:]}" if remedy else ""
