"""`bankml history open`: a history searched in this person's browser."""

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from bankml.cli.history import AllowLicence, File, embedder_of
from bankml.cli.output import AsJson, Model, note, write_json
from bankml.utf8 import printable

HOST = "127.0.0.1"


def open_page(
    file: File,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of 127.0.0.1; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    model: Model = None,
    words: Annotated[bool, typer.Option("--words", help="By words alone: no model is used.")] = False,
    allow_licence: AllowLicence = None,
    json: AsJson = False,
) -> None:
    """Search FILE in a browser as you type, until Ctrl-C; prints the address, which opens once."""
    from bankml.cli.browser import signpost
    from bankml.history.searcher import Searcher
    from bankml.serve.history_server import run
    from bankml.serve.listener import listen, url
    from bankml.serve.ragebar import Ragebar

    searcher = Searcher(file, embedder_of(model, words), allow_licence=allow_licence or [])
    searcher.search("", 1, 0)  # a file that cannot be read is told before anything is opened
    ragebar = Ragebar(file, searcher)
    with listen(HOST, port) as listener:
        address = f"{url(HOST, listener)}/ui?token={ragebar.session.token}"
        with signpost(address) if browser else nullcontext() as page:

            def ready() -> None:
                if json:
                    write_json({"url": address, "file": str(file)})
                else:
                    print(f"bankml: {printable(file.name)} at {address}", flush=True)
                if page:
                    threading.Thread(target=_show, args=(page,), daemon=True).start()

            run(ragebar, listener, ready)


def _show(page: Path) -> None:
    from bankml.cli.browser import show

    if not show(page):
        note("no browser could be opened; open the address yourself")
