"""The person's browser, sent to a page whose address is a secret."""

import html
import os
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IN_TERMINAL = ("www-browser", "links", "elinks", "lynx", "w3m")  # they would take the terminal from the server
PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={address}">
<title>bankml</title>
<p><a href="{address}">To the page</a></p>
"""


@contextmanager
def signpost(address: str) -> Iterator[Path]:
    """A file that sends a browser on to `address`, for this user alone (0600), removed at the end.

    A browser's arguments can be read by every user of the machine, and this file is all that is among them.
    """
    with tempfile.NamedTemporaryFile("w", prefix="bankml-", suffix=".html", encoding="utf-8") as file:
        file.write(PAGE.format(address=html.escape(address)))
        file.flush()
        yield Path(file.name)


def show(page: Path) -> bool:
    """Whether a browser was told to show the page; none that lives in a terminal is, unless BROWSER names it."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if getattr(browser, "name", "") in IN_TERMINAL and "BROWSER" not in os.environ:
        return False
    return browser.open(page.as_uri())
