"""`bankml serve`."""

import os
import socket
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli import searched
from bankml.cli.model import choose
from bankml.cli.output import AsJson, Model, note, write_json
from bankml.cli.store import Db
from bankml.ollama_address import is_loopback
from bankml.settings import Settings, duration, strangers
from bankml.utf8 import printable

if TYPE_CHECKING:
    from bankml.serve.access import Access


class LogFormat(StrEnum):
    """How a line of the access log is written."""

    plain = "plain"
    json = "json"


def serve(
    native: Annotated[bool, typer.Option("--native", help="Answer alone: leave nothing to a local Ollama.")] = False,
    model: Model = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 18093,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Threads that compute.", show_default="one per usable core")
    ] = None,
    backend: Annotated[
        str | None, typer.Option(help="Kernels by name.", show_default="the best this CPU allows")
    ] = None,
    max_queue: Annotated[int, typer.Option(min=1, help="Requests in flight; one more is told to come again.")] = 512,
    max_queue_tokens: Annotated[
        int, typer.Option(min=1, help="Tokens of the requests in flight, a text counting at least 64.")
    ] = 8 * 2**20,
    keep_alive: Annotated[
        str | None,
        typer.Option(help="How long a model stays in memory unused: 90s, 1h30m, -1 for ever, 0.", show_default="5m"),
    ] = None,
    uds: Annotated[
        Path | None, typer.Option(help="Listen on this Unix socket, not on host and port.", show_default=False)
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(help="Serve only who sends a key that is a line of this file.", show_default=False)
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Without a key, let other machines in too.")] = False,
    origin: Annotated[
        list[str] | None, typer.Option(help="A web page that may read answers (repeatable), or *.", show_default=False)
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(help="Serve https with this certificate.", show_default=False)
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's private key.", show_default=False)] = None,
    json: AsJson = False,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="A line on stderr for each request, without its texts.")
    ] = False,
    log_format: Annotated[LogFormat, typer.Option(help="Of the access log.")] = LogFormat.plain,
    history: Annotated[
        Path | None, typer.Option(help="A .history file to search at /ui; the link is printed.", show_default=False)
    ] = None,
    allow_licence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Embed the history with a model of this licence though it is not known to be open (repeatable).",
            show_default=False,
        ),
    ] = None,
    kb: Annotated[
        bool, typer.Option("--kb", help="Search the knowledge base PATH, and add to it, at /kb/ and at /ui.")
    ] = False,
    path: Annotated[
        Path | None, typer.Argument(help="With --kb: the knowledge base, as --db.", show_default=False)
    ] = None,
    db: Db = None,
) -> None:
    """Answer /api/embed, /v1/embeddings and their kin; prints one line with the URL when ready."""
    from bankml.serve.connections import most
    from bankml.serve.lending import Lender
    from bankml.serve.limits import Limits
    from bankml.serve.listener import listen, listen_unix, url
    from bankml.serve.server import Options, Served
    from bankml.serve.session import Session

    if (path or db) and not kb:
        raise typer.BadParameter(f"{path or db} is a knowledge base to serve only with --kb; say --kb too")
    if path and db:
        raise typer.BadParameter(f"both {path} and --db {db} are named; name one")
    for sentence in strangers(os.environ):
        note(sentence)
    keep = _keep_alive(keep_alive)
    log = log_format.value if access_log or Settings.read().access_log else None
    access = _access(api_key_file, origin or [], tls_cert, tls_key)
    with listen_unix(uds) if uds else listen(host, port) as listener:  # before the model, which may have to be pulled
        _check_public(listener, host, bool(access.keys) or insecure)
        forward = None if native else _forward(listener)
        limits = Limits(max_queue, max_queue_tokens, max_connections=most(each=2 if forward else 1))
        choice = choose(model)
        address = url(host, listener, bool(access.tls))
        lender, session = Lender(), Session()
        ragebar = searched.history(history, choice, lender, session, allow_licence or []) if history else None
        knowledge = searched.knowledge(path or db, lender, session) if kb else None
        pages = searched.pages(address, session.token, history, knowledge, bool(access.keys))

        def ready() -> None:
            if json:
                write_json({"url": address, "model": choice.name, **pages})
            else:
                name = printable(choice.name)
                print(f"bankml: serving {name} at {address} for clients of Ollama and of OpenAI", flush=True)
                for name, link in pages.items():
                    once = ", which opens once" if session.token in link else ""
                    note(f"the {'history' if name == 'history' else 'knowledge base'} is searched at {link}{once}")
                if knowledge and not access.keys and not uds:
                    note(f"{_anybody(listener)} may search it and add to it: a key or --uds would close it")

        options = Options(threads, backend, keep, forward, log, limits, access, ragebar, knowledge, lender)
        Served(choice, options).run(listener, ready)


def _keep_alive(value: str | None) -> int | None:
    """Nanoseconds of --keep-alive; None leaves it to BANKML_KEEP_ALIVE."""
    try:
        return None if value is None else duration(value.strip())
    except ValueError as error:
        raise typer.BadParameter(f"{value!r} is no duration; give {error}", param_hint="--keep-alive") from None


def _forward(listener: socket.socket) -> str | None:
    """The Ollama that gets what bankml does not answer; None where that would be this server itself."""
    from bankml.serve.upstream import is_own

    url = Settings.read().ollama
    if is_own(url, listener):
        note(f"nothing is forwarded: BANKML_OLLAMA is {url}, which is this server; set it to where Ollama listens")
        return None
    note(f"what bankml does not run is left to Ollama at {url}")
    if not is_loopback(url):
        note(f"BANKML_OLLAMA is {url}, another machine: the texts of what is left to it leave this one")
    return url


def _access(key_file: Path | None, origins: list[str], cert: Path | None, key: Path | None) -> "Access":
    from bankml.serve import keys, tls
    from bankml.serve import origins as pages
    from bankml.serve.access import Access

    if (cert is None) != (key is None):
        raise typer.BadParameter("give both --tls-cert and --tls-key, or neither")
    context = tls.context(cert, key) if cert and key else None
    return Access(keys.read(Settings.read().api_key, key_file), tuple(map(pages.checked, origins)), context)


def _anybody(listener: socket.socket) -> str:
    """Who may ask where there is no key."""
    from bankml.serve.listener import is_public

    return "everybody who reaches this address" if is_public(listener) else "every program of this machine"


def _check_public(listener: socket.socket, host: str, allowed: bool) -> None:
    from bankml.serve.listener import is_public

    if is_public(listener) and not allowed:
        raise typer.BadParameter(
            f"--host {host} lets other machines in and there is no key: set BANKML_API_KEY or give --api-key-file, "
            "or say --insecure to serve whoever can reach it"
        )
