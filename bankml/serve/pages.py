"""The two pages for people, /docs and /ui: whole in one answer, allowed to ask nobody but this server."""

import base64
import re
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from bankml.serve.cached import Cached

STATIC = Path(__file__).parent / "static"


def _page(name: str) -> Cached:
    """The endpoint of static/`name`, with what both pages share put in: style, script, the question for a key."""
    text = (STATIC / name).read_text()
    for part in ("frame.css", "frame.js", "key.html"):
        text = text.replace(f"/* {part} */", (STATIC / part).read_text())
    return Cached(text.encode(), "text/html; charset=utf-8", _headers(text))


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


_DOCS, _UI = _page("docs.html"), _page("ui.html")


async def docs(request: Request) -> Response:
    """The description of every address, made from /openapi.json."""
    return _DOCS.answer(request)


async def ui(request: Request) -> Response:
    """What the server is doing, live."""
    return _UI.answer(request)
