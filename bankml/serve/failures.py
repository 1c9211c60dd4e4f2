"""Why requests fail, in a bounded set of words that metrics and pages can count by."""

import re

from bankml import errors
from bankml.errors import Error

STATUSES = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    408: "timeout",
    413: "too_large",
    414: "too_large",
    415: "unsupported_media_type",
    429: "busy",
    431: "too_large",
    499: "canceled",
    500: "internal",
    502: "upstream",
    503: "unavailable",
    504: "upstream",
}
OTHER = "other"


def _kind(error: type[Error]) -> str:
    """The class's name in snake case: NotFiniteError is not_finite."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", error.__name__.removesuffix("Error")).lower() or "error"


KINDS = frozenset(STATUSES.values()) | {
    _kind(kind) for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Error)
}


def kind(error: Exception, status: int) -> str:
    """What this error, answered with `status`, is counted as: the class of bankml's own error where there is one."""
    for found in (error, error.__cause__):
        if isinstance(found, Error):
            return _kind(type(found))
    return STATUSES.get(status, OTHER)
