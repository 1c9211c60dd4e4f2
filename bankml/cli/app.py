"""The commands under one name, and the one place where an error becomes an exit status."""

import errno
import os
import sys
from itertools import takewhile
from typing import Annotated, Any

import typer

import bankml
from bankml.cli import (
    add,
    config,
    context,
    convert,
    doctor,
    embed,
    evaluate,
    feedback,
    files,
    history,
    history_open,
    history_verify,
    init,
    mcp,
    publish,
    query,
    reindex,
    remember,
    search,
    serve,
    status,
    timeline,
    tokenize,
    transfer,
    workspace,
)
from bankml.cli.output import OutputError, abandon_output, note, write_json
from bankml.cli.terminated import exit_status
from bankml.errors import Error

FAILED = 1
USAGE = 2
UsageError: Any = typer.BadParameter.__base__  # click's, or that of the click inside newer typers

app = typer.Typer(
    name="bankml",
    help="Text embeddings on the CPU you own: the GGUF you have, at Ollama's and OpenAI's addresses.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    serve.serve,
    embed.embed,
    tokenize.tokenize,
    files.models,
    files.info,
    files.pull,
    convert.convert,
    files.verify,
    init.init,
    search.search,
):
    app.command()(command)
history.history.command("open")(history_open.open_page)
history.history.command("verify")(history_verify.verify)
app.command()(reindex.reindex)
app.command()(status.status)
app.command()(doctor.doctor)
app.add_typer(history.history)
app.add_typer(publish.app, name="publish")
app.command("eval")(evaluate.evaluate)
app.command()(add.add)
app.command()(transfer.export)
app.command("import")(transfer.restore)
app.add_typer(config.app, name="config")
app.command()(remember.remember)
app.command()(remember.decide)
app.command()(feedback.feedback)
app.command()(timeline.timeline)
app.command()(query.query)
app.command()(mcp.mcp)
app.command()(context.context)
app.add_typer(workspace.app, name="workspace")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"bankml {bankml.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def run(arguments: list[str]) -> int:
    """Exit status of the command line: 0, 1 for a failure told in one sentence, 2 for a usage error."""
    as_json = "--json" in takewhile(lambda argument: argument != "--", arguments)
    try:
        status = _run(arguments, as_json)
        sys.stdout.flush()
        return status
    except OutputError as error:
        abandon_output()
        if error.errno != errno.EPIPE:  # a reader that has seen enough
            note(f"the output cannot be written ({error.strerror}); send it to another place")
        return FAILED


def _run(arguments: list[str], as_json: bool) -> int:
    try:
        status = app(arguments or ["--help"], prog_name="bankml", standalone_mode=False)
        return int(status or 0) if arguments else USAGE
    except Error as error:
        _fail(str(error), as_json)
        return error.exit_code
    except UsageError as error:
        _fail(_usage(error), as_json)
        return USAGE
    except OutputError:
        raise
    except OSError as error:
        _fail(_refusal(error), as_json)
        return FAILED
    except (KeyboardInterrupt, typer.Abort) as interrupt:
        return exit_status(interrupt)
    except SystemExit as exit:  # typer's, of a reader that left
        return int(exit.code or 0)


def _usage(error: Any) -> str:
    """One sentence, with the command whose help says more."""
    command = error.ctx.command_path if error.ctx else "bankml"
    return f"{' '.join(error.format_message().split()).rstrip('.')}; see `{command} --help`"


def _refusal(error: OSError) -> str:
    """One sentence for what the system refused and no command expected."""
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is None:
        return f"the system refused ({reason}); check this machine's disks and limits, then try again"
    path = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    return f"{path}: {reason}; check that this path is right and that you may use it"


def _fail(sentence: str, as_json: bool) -> None:
    if as_json:
        write_json({"error": sentence})
    else:
        note(sentence)
