"""`bankml serve`."""

import os
from enum import StrEnum
from typing import Annotated

import typer

from bankml.cli.model import choose
from bankml.cli.output import AsJson, Model, note, write_json
from bankml.settings import Settings, strangers
from bankml.utf8 import printable


class LogFormat(StrEnum):
    """How a line of the access log is written."""

    plain = "plain"
    json = "json"


def serve(
    native: Annotated[bool, typer.Option("--native", help="Use bankml's own engine (the only way so far).")] = False,
    model: Model = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 18093,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Threads that compute.", show_default="one per usable core")
    ] = None,
    backend: Annotated[
        str | None, typer.Option(help="Kernels by name.", show_default="the best this CPU allows")
    ] = None,
    json: AsJson = False,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="A line on stderr for each request, without its texts.")
    ] = False,
    log_format: Annotated[LogFormat, typer.Option(help="Of the access log.")] = LogFormat.plain,
) -> None:
    """Answer /api/embed, /v1/embeddings and their kin; prints one line with the URL when ready."""
    from bankml.serve import server

    for sentence in strangers(os.environ):
        note(sentence)
    settings = Settings.read()
    server.check(settings)
    log = log_format.value if access_log or settings.access_log else None
    with server.listen(host, port) as listener:  # before the model, which may have to be pulled
        choice = choose(model)
        url = server.url(host, listener)

        def ready() -> None:
            if json:
                write_json({"url": url, "model": choice.name})
            else:
                name = printable(choice.name)
                print(f"bankml: serving {name} at {url} for clients of Ollama and of OpenAI", flush=True)

        server.Served(choice, threads, backend, log).run(listener, host, ready)
