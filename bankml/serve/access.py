"""Who may use the server."""

import ssl
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Access:
    """What clients must show and what they may read.

    `keys`: one of them is asked for; none: everybody is served. `origins`: pages that may read answers. `tls`: None is
    no encryption.
    """

    keys: tuple[str, ...] = field(default=(), repr=False)
    origins: tuple[str, ...] = ()
    tls: ssl.SSLContext | None = None


ANYBODY = Access()
