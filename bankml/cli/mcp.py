"""`bankml mcp`."""

from secrets import token_hex
from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli.output import AsJson, Model, write_json
from bankml.cli.store import Db
from bankml.errors import InputError
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.mcp.memories import Memories

HOST = "127.0.0.1"


def mcp(
    http: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT", help="Listen there, not on stdin; port 0 takes a free one.", show_default=False
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            help="Whose records of the namespace session are seen.", show_default="a new one, over HTTP for each client"
        ),
    ] = None,
    model: Model = None,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Let an agent remember and find: the store's tools over MCP, on stdin and stdout or over HTTP."""
    _check_installed()
    from bankml.library.model.wanted import named
    from bankml.mcp.memories import Memories
    from bankml.memory.root import here
    from bankml.store import place

    if model is not None:
        named(model)
    memories = Memories(place(db), model, _session(session, http is not None), here())
    try:
        _over_stdio(memories) if http is None else _over_http(memories, *_address(http), json)
    finally:
        memories.close()


def _over_stdio(memories: "Memories") -> None:
    import anyio

    from bankml.mcp.server import server
    from bankml.mcp.stdio import claimed, serve

    with claimed() as (stdin, stdout):
        ended = anyio.run(serve, server(memories), stdin, stdout)
    if ended is not None:
        raise typer.Exit(128 + ended)


def _over_http(memories: "Memories", host: str, port: int, json: bool) -> None:
    from bankml.mcp.http import PATH, run
    from bankml.mcp.server import server
    from bankml.serve import keys
    from bankml.serve.listener import is_public, listen, url

    known = keys.read(Settings.read().api_key, None)
    with listen(host, port, "--http") as listener:
        if is_public(listener) and not known:
            raise typer.BadParameter(
                f"--http {host}:{port} lets other machines in and there is no key: set BANKML_API_KEY, or listen on "
                f"{HOST}"
            )
        address = url(host, listener) + PATH
        run(server(memories), listener, known, lambda: _tell(address, json))


def _tell(address: str, json: bool) -> None:
    if json:
        write_json({"url": address})
    else:
        print(f"bankml: MCP at {address}", flush=True)


def _address(value: str) -> tuple[str, int]:
    host, colon, port = value.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else HOST
    if not host or not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 2**16):
        raise typer.BadParameter(f"{value!r} is no address: give a port, or HOST:PORT", param_hint="--http")
    return host, int(port)


def _session(given: str | None, many: bool) -> str:
    """ "" where each of many clients has its own."""
    if given is not None and not given.strip():
        raise typer.BadParameter(
            "an empty session is nobody's: give it a name, or leave it out", param_hint="--session"
        )
    from bankml.mcp.server import PREFIX

    own = "" if many else PREFIX + token_hex(8)
    return own if given is None else given


def _check_installed() -> None:
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise InputError("`bankml mcp` needs the MCP SDK: run `pip install '.[mcp]'` in the clone")
