"""Which names a text may be kept under that is no file's."""

import re

from bankml.utf8 import UNPRINTABLE

UP = re.compile(r"(^|[/\\])\.\.($|[/\\])")


def unfit(name: str) -> str:
    """Why it cannot be the name of a document, without the name; "" where it can."""
    if not name.strip():
        return "is empty; give it one"
    if name.startswith("/"):
        return f"is {name[:80]!r}; give a name that does not begin with a slash: no file of this machine is read"
    if UNPRINTABLE.search(name):
        return f"is {name[:80]!a}, with a character that is not seen or turns its neighbours; leave it out"
    if UP.search(name):
        return f"is {name[:80]!r}; leave out `..`: it is a name, and leads through no folders"
    return ""
