"""The commands under one name, and the one place where an error becomes an exit status."""

import sys
from itertools import takewhile
from typing import Annotated

import typer

import bankml
from bankml.cli import embed, files, serve, tokenize
from bankml.cli.output import write_json
from bankml.errors import Error

USAGE = 2

app = typer.Typer(
    name="bankml",
    help="Text embeddings on the CPU you own: the GGUF you have, at Ollama's and OpenAI's addresses.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (serve.serve, embed.embed, tokenize.tokenize, files.models, files.info, files.pull, files.verify):
    app.command()(command)


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
        app(arguments, prog_name="bankml")
    except Error as error:
        _fail(str(error), as_json)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except SystemExit as exit:
        if exit.code == USAGE and as_json:
            write_json({"error": "the command line is not understood; see the line on stderr, or --help"})
        return int(exit.code or 0)
    return 0


def _fail(sentence: str, as_json: bool) -> None:
    if as_json:
        write_json({"error": sentence})
    else:
        print(f"bankml: {sentence}", file=sys.stderr)
