"""A hub over HTTP, by huggingface-hub's own session: the user's token, proxy, certificates and offline switch hold.

huggingface-hub is imported here alone, and only when something is pulled.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from bankml.errors import InputError, ModelError, NotFetchedError
from bankml.models.hub_name import HubName
from bankml.settings import Environment

OLDEST = 1  # the first major release whose session can stream
NEEDED = "huggingface-hub>=1.0"  # as the extra `hub` in pyproject.toml
PASSING = frozenset({408, 429, 500, 502, 503, 504})

_ODD = re.compile(r"[^!-~]")  # what no address holds


class PassingError(NotFetchedError):
    """A failure that may be over in a moment: the hub is busy or a connection broke."""


class UnreachableError(PassingError):
    """No connection at all."""


class Hub:
    """The hub that HF_ENDPOINT names, else huggingface.co. Raises ModelError where huggingface-hub is not installed."""

    def __init__(self) -> None:
        endpoint = _address(Environment(os.environ).text("HF_ENDPOINT"))
        _check_installed()
        from huggingface_hub import constants

        self.endpoint = endpoint or constants.ENDPOINT

    def __str__(self) -> str:
        """Its address, without a password."""
        return _without_password(self.endpoint)

    @contextmanager
    def stream(self, path: str, name: HubName, headers: dict[str, str] | None = None) -> Iterator[Any]:
        """The answer to GET `path`, whose body is read within the block; redirects are followed (without the token).

        Raises PassingError for what another try may mend and ModelError, with the remedy, for what it will not.
        """
        from huggingface_hub import constants, get_session

        with self._transport_errors():
            timeout = constants.HF_HUB_DOWNLOAD_TIMEOUT
            url = f"{self.endpoint}/{path}"
            with get_session().stream("GET", url, headers=_headers() | (headers or {}), timeout=timeout) as response:
                if response.status_code >= 400:
                    raise self._refusal(response.status_code, response.headers.get("X-Error-Code", ""), name)
                yield response

    @contextmanager
    def _transport_errors(self) -> Iterator[None]:
        from huggingface_hub.errors import OfflineModeIsEnabled

        http = _http()
        try:
            yield
        except OfflineModeIsEnabled:
            raise UnreachableError(f"{self} may not be asked, HF_HUB_OFFLINE is set: unset it") from None
        except (http.ConnectError, http.ConnectTimeout, http.ProxyError, http.UnsupportedProtocol) as error:
            raise UnreachableError(
                f"{self} cannot be reached ({_reason(error)}): connect to the network or set HF_ENDPOINT to a mirror"
            ) from None
        except http.HTTPError as error:
            raise PassingError(f"the connection to {self} broke ({_reason(error)}): try again") from None

    def _refusal(self, status: int, code: str, name: HubName) -> ModelError:
        page = f"{self}/{name.repository}"
        if status in PASSING:
            return PassingError(f"{self} answers {status} for {name.repository}: try again later")
        if code == "RevisionNotFound":
            return ModelError(f"{page} has no revision {name.revision!r}: check it, or leave it out for the main one")
        if code == "GatedRepo" or (status == 403 and code != "RepoNotFound"):
            return ModelError(
                f"{page} is gated or forbidden to this account: accept its licence there, and set HF_TOKEN to a token "
                "of the account that did"
            )
        if status in (401, 404):
            return ModelError(
                f"{self} has no repository {name.repository} that may be read: check the name, or set HF_TOKEN to a "
                "token that may read it if it is private"
            )
        return ModelError(f"{self} answers {status} for {name.repository}: check HF_ENDPOINT, or try again later")


def _check_installed() -> None:
    remedy = f"run `{sys.executable} -m pip install '{NEEDED}'`, or download the GGUF file and give its path"
    try:
        import huggingface_hub  # noqa: F401
    except ImportError:
        raise ModelError(f"pulling from a hub needs the package huggingface-hub: {remedy}") from None
    found = metadata.version("huggingface-hub")
    if int(found.partition(".")[0]) < OLDEST:
        raise ModelError(f"pulling from a hub needs huggingface-hub {OLDEST}.0 or newer, not {found}: {remedy}")


def _http() -> ModuleType:
    """What huggingface-hub speaks HTTP with: httpx in its releases 1.x, httpx2 from 2.0 on."""
    from huggingface_hub.errors import HfHubHTTPError

    return sys.modules[HfHubHTTPError.__bases__[0].__module__.partition(".")[0]]


def _headers() -> dict[str, str]:
    """Asks for bytes as they are stored: a range of compressed ones means nothing. The agent tells of nothing else."""
    from huggingface_hub import constants, get_token

    token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    if token and not (token.isascii() and token.isprintable()):
        raise ModelError("the token for the hub holds characters that no token has: set HF_TOKEN to it anew")
    own = {"User-Agent": f"bankml/{metadata.version('bankml')}", "Accept-Encoding": "identity"}
    return own | ({"Authorization": f"Bearer {token}"} if token else {})


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _address(value: str | None) -> str | None:
    try:
        parts = urlsplit(value or "http://unset")
        # Reading the port checks it. urlsplit leaves out some characters and lets others pass.
        sound = (
            parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not _ODD.search(value or "")
        )
    except ValueError:
        sound = False
    if value and not sound:
        raise InputError(
            f"HF_ENDPOINT is {_without_password(value)!r}: set it to the address of a hub such as "
            "https://huggingface.co, or unset it"
        )
    return value and value.rstrip("/")


def _without_password(address: str) -> str:
    """Without all that stands before the last @: what is no address may have one anywhere."""
    return re.sub(r"^([a-z]+://)?.*@", r"\1", address, flags=re.IGNORECASE | re.DOTALL)
