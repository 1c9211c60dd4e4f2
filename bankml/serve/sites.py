"""Whether a request comes from a web page of another site, which must not write what its visitor keeps."""

from collections.abc import Sequence

from starlette.datastructures import Headers

from bankml.serve.errors import RefusedError
from bankml.serve.origins import ANY

OURS = ("same-origin", "none")  # of Sec-Fetch-Site; none: typed, or a bookmark


def check(headers: Headers, origins: Sequence[str]) -> None:
    """Programs send neither header, and pass. Raises RefusedError, 403, for a page that is not ours nor of `origins`.

    A browser sends Sec-Fetch-Site where it sends no Origin too; an older one only the Origin.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if ANY in origins or origin in origins:
        return
    if site in OURS or (site is None and (origin is None or origin.partition("://")[2] == headers.get("host"))):
        return
    who = f"the page of {origin!r}" if origin else f"a page ({site})"
    raise RefusedError(403, f"{who} may not ask this server; start it with --origin if it should")
