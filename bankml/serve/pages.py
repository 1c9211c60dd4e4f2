"""The pages for people, /docs and /ui: whole in one answer, allowed to ask nobody but this server."""

import base64
import re
from functools import cache
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from bankml.serve.cached import Cached
from bankml.serve.entrance import exchanged

STATIC = Path(__file__).parent / "static"
SHARED = ("frame.css", "frame.js", "key.html")
SERVER, HISTORY, KNOWLEDGE = "server", "history", "knowledge"  # the tabs of /ui
PARTS = {SERVER: ("server",), HISTORY: ("search", "history"), KNOWLEDGE: ("search", "knowledge")}  # names of files


def _page(name: str, parts: dict[str, str]) -> Cached:
    """static/`name` with each key of `parts` replaced, and with what both pages share."""
    text = _read(name)
    for place, part in ({f"/* {name} */": _read(name) for name in SHARED} | parts).items():
        text = text.replace(place, part)
    return Cached(text.encode(), "text/html; charset=utf-8", _headers(text))


def _read(name: str) -> str:
    return (STATIC / name).read_text()


def _headers(text: str) -> dict[str, str]:
    """Only what stands in the page itself runs: any script that a model's name, a proxy or a fault adds does not."""
    policy = {
        "default-src": "'none'",
        "script-src": _hashes("script", text),
        "style-src": _hashes("style", text),
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def _hashes(tag: str, text: str) -> str:
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return " ".join(f"'sha256-{base64.b64encode(sha256(part.encode()).digest()).decode()}'" for part in found)


@cache
def _docs() -> Cached:
    return _page("docs.html", {})


@cache
def _ui(tabs: tuple[str, ...]) -> Cached:
    links = [f'<a id="link-{tab}" href="#{tab}">{tab.capitalize()}</a>' for tab in tabs]
    if SERVER in tabs:
        links.append('<a href="/docs">Addresses</a>')
    joined = {suffix: _joined(tabs, suffix) for suffix in ("css", "html", "js")}
    parts = {
        "<!-- title -->": ", ".join(tabs),
        "<!-- links -->": "".join(links),
        "<!-- tabs -->": joined["html"],
        "/* tabs.css */": _read("tabs.css") + joined["css"],
        "/* tabs.js */": _read("tabs.js") + joined["js"],
    }
    return _page("ui.html", parts)


def _joined(tabs: tuple[str, ...], suffix: str) -> str:
    """What these tabs are made of, each file once."""
    names = dict.fromkeys(f"{part}.{suffix}" for tab in tabs for part in PARTS[tab])
    return "".join(_read(name) for name in names if (STATIC / name).exists())


async def docs(request: Request) -> Response:
    """The description of every address, made from /openapi.json."""
    return _docs().answer(request)


async def ui(request: Request) -> Response:
    """What the server is doing, live, and what it lets search; the link to that is exchanged for a cookie."""
    session, tabs, token = request.app.state.session, request.app.state.tabs, request.query_params.get("token")
    if session and token is not None and request.method == "GET":
        return exchanged(request, session, token, [tab for tab in tabs if tab != SERVER])
    return _ui(tabs).answer(request)
