"""`bankml config`: the settings of a knowledge base, and another model for it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankml.cli.configured import asking, shown, tell
from bankml.cli.convert import Pooling
from bankml.cli.output import AsJson, note, table, write_json
from bankml.cli.store import Db
from bankml.errors import PoolingError
from bankml.settings import Settings
from bankml.utf8 import printable

if TYPE_CHECKING:
    from bankml.library.model.candidate import Candidate
    from bankml.library.model.configuration import Configuration
    from bankml.library.model.values import Value

app = typer.Typer(invoke_without_command=True)


Key = Annotated[str, typer.Argument(metavar="KEY", help="As `bankml config` lists them.", show_default=False)]
Reindex = Annotated[
    bool, typer.Option("--reindex", help="Make the vectors anew at once where that is wanted, without a question.")
]


@app.callback()
def config(context: typer.Context, db: Db = None, json: AsJson = False) -> None:
    """Show the settings of a knowledge base and where each comes from; on a terminal, choose its model."""
    if context.invoked_subcommand is not None:
        if db or json:
            raise typer.BadParameter("give --db and --json behind the subcommand")
        return
    if json or not (sys.stdout.isatty() and asking()):
        _list(_path(db), json)
        return
    from bankml.cli.picker import pick
    from bankml.library.model.configuration import PRESET

    path = _path(db)
    if name := pick(path, Settings.read()):
        _put(path, db, {PRESET: name}, PRESET, False, False)


@app.command("get")
def get(key: Key, db: Db = None, json: AsJson = False) -> None:
    """Print the value that counts, whoever says it."""
    from bankml.library.model.configure import known
    from bankml.library.model.values import values

    known(key)
    found = next(value for value in values(_path(db), Settings.read()) if value.key == key)
    if json:
        write_json(_object(found))
        return
    if found.idle:
        note(f"{key} is {shown(found.saved)} in config.yaml, without effect: {found.by} decides")
    if found.value is not None:
        print(printable(found.value) if isinstance(found.value, str) and sys.stdout.isatty() else _raw(found.value))


@app.command("set")
def put(
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The new value.", show_default=False)],
    reindex: Reindex = False,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Write a setting into config.yaml, where everything else stays as it is."""
    from bankml.library.model.configure import known, parsed

    _put(_path(db), db, {known(key): parsed(key, value)}, key, reindex, json)


@app.command("reset")
def reset(
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="One of them; else all.", show_default=False)] = None,
    reindex: Reindex = False,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Take a setting, or all of them, out of config.yaml; comments stay."""
    from bankml.library.model.configuration import CHECKS
    from bankml.library.model.configure import change, known, said

    path = _path(db)
    keys = list(CHECKS) if key is None else [known(key)]
    before = said(path)
    configuration = change(path, dict.fromkeys(keys))
    taken = {"taken out": ", ".join(f"{one} {shown(before[one])}" for one in keys if one in before) or "nothing"}
    tell(path, db, configuration, key, taken, reindex, json)


@app.command("set-model")
def set_model(
    name: Annotated[
        str,
        typer.Argument(
            help="A GGUF file, a name of `bankml models`, owner/repo on a hub, or an Ollama name.", show_default=False
        ),
    ],
    pooling: Annotated[
        Pooling | None, typer.Option(help="How token vectors become one, where the model does not say.")
    ] = None,
    reindex: Reindex = False,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Check a model of your own, fetch it, and make it the knowledge base's; nothing is switched if any of it fails."""
    from bankml.library.model.candidate import switch
    from bankml.library.model.configuration import MODEL, Configuration

    path, settings = _path(db), Settings.read()
    found = _candidate(name, settings, Configuration.read(path), pooling, ask=not json and asking())
    configuration = switch(path, found)
    facts = {
        "model": found.name,
        "dims": found.dims,
        "dtype": found.dtype or None,
        "pooling": found.pooled or None,
        "query_prefix": found.query_prefix,
        "document_prefix": found.document_prefix,
        "licence": found.licence,
        "run_by": found.provider,
    }
    tell(path, db, configuration, MODEL, facts, reindex, json)


def _candidate(
    name: str, settings: Settings, configuration: "Configuration", pooling: Pooling | None, ask: bool
) -> "Candidate":
    """A person is asked for the pooling that the model does not say."""
    from bankml.library.model.candidate import candidate

    try:
        return candidate(name, settings, configuration, pooling and pooling.value)
    except PoolingError as error:
        if not ask:
            raise
        note(str(error))
    answer: Pooling = typer.prompt(f"pooling ({', '.join(Pooling)})", type=Pooling, err=True)
    return candidate(name, settings, configuration, answer.value)


def _put(path: Path, db: Path | None, given: dict[str, Any], key: str, reindex: bool, json: bool) -> None:
    from bankml.library.model.configure import change

    configuration = change(path, given)
    tell(path, db, configuration, key, {key: configuration.said[key]}, reindex, json)


def _list(path: Path, json: bool) -> None:
    from bankml.library.model.configuration import place
    from bankml.library.model.values import values

    found = values(path, Settings.read())
    if json:
        from bankml.cli.picker import rows

        settings = {value.key: _object(value) for value in found}
        write_json({"config": str(place(path)), "settings": settings, "presets": rows(Settings.read())})
        return
    table(("key", "value", "from"), [(one.key, shown(one.value), _source(one)) for one in found])


def _source(value: "Value") -> str:
    return f"{value.by} (saved without effect: {shown(value.saved)})" if value.idle else value.by


def _object(value: "Value") -> dict[str, Any]:
    return {"key": value.key, "value": value.value, "from": value.by, "saved": value.saved}


def _raw(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


def _path(db: Path | None) -> Path:
    from bankml.store import place

    return place(db)
