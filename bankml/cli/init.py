"""`bankml init`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankml.cli.output import AsJson, Model, note, write_facts, write_json
from bankml.cli.store import Db
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.library.model.initialise import Initialised

WIDTH = 16


def init(
    model: Model = None,
    status: Annotated[
        bool, typer.Option("--status", help="Change nothing; show what there is and what is not.")
    ] = False,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Make a knowledge base: one file, bound to one model (all-MiniLM-L6-v2), which is pulled and converted once."""
    from bankml.store import place

    settings = Settings.read()
    path = place(db, settings)
    if status:
        from bankml.library.model.inspection import inspect

        _show(inspect(path, settings, model), json)
        return
    from bankml.library.model.initialise import initialise

    done = initialise(path, settings, model)
    if done.why:
        note(f"{done.why}; until then words alone are searched, and `bankml init` pulls the model later")
    if json:
        write_json(_facts(done))
    else:
        _tell(done)


def _facts(done: "Initialised") -> dict[str, Any]:
    bound = done.bound
    return {
        "db": str(done.path),
        "created": done.created,
        "model": done.model,
        "dims": bound and bound.dims,
        "digest": bound and bound.digest,
        "fingerprint": bound and bound.fingerprint,
        "licence": done.licence and done.licence.id,
        "open": done.licence and done.licence.open,
        "warning": done.why or None,
    }


def _tell(done: "Initialised") -> None:
    facts = {"knowledge base": f"{done.path} ({'made' if done.created else 'there already, left as it is'})"}
    facts["model"] = done.model
    if done.bound:
        facts["model"] += f", {done.bound.dims} dimensions, sha256 {done.bound.digest[:12]}"
    if done.licence:
        facts["licence"] = done.licence.id if done.licence.open else f"{done.licence.id} (not known to be open)"
    write_facts(facts, WIDTH)


def _show(facts: dict[str, Any], json: bool) -> None:
    if json:
        write_json(facts)
        return
    model = f"{facts['model']} ({facts['model_from']})" if facts["model_from"] else "not known"
    idle = "" if facts["vector_enabled"] else ", not searched by (search.vector.enabled is false)"
    write_facts(
        {
            "folder": f"{Path(facts['db']).parent} ({'there' if facts['folder_exists'] else 'not there'})",
            "knowledge base": facts["database_error"] or facts["db"],
            "model": f"{model}, {'on this machine' if facts['model_present'] else 'not on this machine'}",
            "vectors": f"{facts['embedded']:,} of {facts['chunks']:,} chunks in {facts['documents']:,} documents{idle}",
            **{name: _converter(found) for name, found in facts["converters"].items()},
        },
        WIDTH,
    )
    if facts["model_error"]:
        note(facts["model_error"])


def _converter(found: dict[str, Any]) -> str:
    if not found["installed"]:
        return "not installed"
    models = (
        {True: ", its models here", False: ", its models not here yet"}[found["models"]] if "models" in found else ""
    )
    return f"{found['version']}{models}"
