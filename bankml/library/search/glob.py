"""Which paths a glob means, in time linear in both: a server is given globs by strangers."""

import re
from fnmatch import translate

ANY = "**"


class Glob:
    """What matches, and all that lies below it.

    `*`, `?` and `[…]` stay within a folder, `**` is any number of folders. A glob that does not begin with a slash may
    match from any folder on.
    """

    def __init__(self, glob: str) -> None:
        parts = [part for part in glob.split("/") if part not in ("", ".")]
        if not glob.startswith("/"):
            parts.insert(0, ANY)
        once = [part for part, before in zip(parts, ["", *parts], strict=False) if not part == before == ANY]
        self._parts = [None if part == ANY else re.compile(translate(part)) for part in once]

    def matches(self, path: str) -> bool:
        """Whether a path is meant, or a name without folders."""
        reached = self._skipped({0})
        for name in path.strip("/").split("/"):
            if len(self._parts) in reached:
                return True
            reached = self._skipped({after for at in reached for after in self._after(at, name)})
        return len(self._parts) in reached

    def _after(self, at: int, name: str) -> set[int]:
        """Where in the glob one may be behind another name of the path."""
        part = self._parts[at]
        if part is None:
            return {at}
        return {at + 1} if part.match(name) else set()

    def _skipped(self, reached: set[int]) -> set[int]:
        """Those, and where one gets by a `**` that is no folder at all."""
        return reached | {at + 1 for at in reached if at < len(self._parts) and self._parts[at] is None}
