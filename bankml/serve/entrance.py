"""What one browser may ask: the history's addresses, which are open to nobody else without a key, and /kb/."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bankml.serve.errors import RefusedError, refuse
from bankml.serve.session import Session, cookie_name

HISTORY, KNOWLEDGE = "/history/", "/kb/"
PATHS = {"history": HISTORY, "knowledge": KNOWLEDGE}  # by the tab of the page that asks them
PROOF = "X-Bankml-Proof"
ADMITTED = "bankml.admitted"  # in the scope of a request that shows the pass
CLOSED = (
    "this history is open to one browser: the one that first opened the link that was printed when this server was "
    "started; start the server again for a new link"
)


class Entrance:
    """ASGI middleware. `keys`: the server asks for keys, so what lacks the pass is left to Keys.

    Without keys the knowledge base is open to every program that may ask this server, as the models are.
    """

    def __init__(self, app: ASGIApp, session: Session, keys: bool) -> None:
        self._app, self._session, self._keys = app, session, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith((HISTORY, KNOWLEDGE)):
            await self._app(scope, receive, send)
            return
        scope[ADMITTED] = self._session.holds(*_shown(Request(scope)))
        if scope[ADMITTED] or self._keys or scope["path"].startswith(KNOWLEDGE):
            await self._app(scope, receive, send)
        else:
            await refuse(Request(scope), RefusedError(403, CLOSED))(scope, receive, send)


def exchanged(request: Request, session: Session, token: str, tabs: Sequence[str]) -> Response:
    """To the page without the token, which then stands in no address bar; with a pass for who shows it first.

    The proof is in the fragment, which browsers send to nobody and the page takes away at once. `tabs`: those of the
    page that need the pass; the first is shown.
    """
    found = session.exchange(token)
    headers = {"Location": f"/ui#{tabs[0]}", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    if found is None:
        return Response(status_code=303, headers=headers)
    answer = Response(status_code=303, headers={**headers, "Location": f"/ui#{tabs[0]}={found.proof}"})
    name, secure = cookie_name(_port(request.scope)), request.url.scheme == "https"
    for tab in tabs:
        answer.set_cookie(name, found.cookie, path=PATHS[tab], secure=secure, httponly=True, samesite="strict")
    return answer


def _shown(request: Request) -> tuple[str, str]:
    return request.cookies.get(cookie_name(_port(request.scope)), ""), request.headers.get(PROOF, "")


def _port(scope: Scope) -> int | None:
    server = scope.get("server")
    return server[1] if server else None
