"""Where an Ollama listens, in the grammar of its own OLLAMA_HOST: [scheme://]host[:port][/path]."""

import ipaddress
from urllib.parse import urlsplit

from bankml.settings import OLLAMA

_PORTS = {"http": 80, "https": 443}  # of an address with a scheme; without one it is 11434


def parse(text: str) -> str:
    """The address as a URL without a slash at its end. Raises ValueError with what would be accepted."""
    scheme, separator, rest = text.rpartition("://")
    scheme = scheme.lower() or "http"
    try:
        parts = urlsplit(f"{scheme}://{_bracketed(rest)}")
        port = parts.port or (_PORTS[scheme] if separator else 11434)
    except (ValueError, KeyError):
        raise ValueError(f"an address such as {OLLAMA}") from None
    if parts.query or parts.fragment or parts.username is not None or not text.isprintable() or " " in text:
        raise ValueError(f"an address such as {OLLAMA}")
    host = parts.hostname or "127.0.0.1"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{parts.path.rstrip('/')}"


def is_loopback(url: str) -> bool:
    """Whether what is sent there stays on this machine; 0.0.0.0 and :: mean this machine to whoever connects."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _bracketed(rest: str) -> str:
    """An IPv6 address may stand without brackets when no port follows."""
    host, slash, path = rest.partition("/")
    try:
        return f"[{ipaddress.IPv6Address(host)}]{slash}{path}"
    except ValueError:
        return rest
