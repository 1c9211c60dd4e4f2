"""Where the knowledge base lies when nobody says."""

import os
from pathlib import Path

from bankml.settings import Settings

FILE = "kb.db"


def real(path: Path) -> Path:
    """The absolute path of the file that a path, perhaps a link, stands for."""
    return Path(os.path.realpath(path))  # one slash at the beginning: two would name a host in SQLite's URI


def place(db: Path | None = None, settings: Settings | None = None) -> Path:
    """`db`, else kb.db in BANKML_HOME, in a ~/.kb that exists, or in the user's data folder for bankml."""
    if db is not None:
        return db.expanduser()
    settings = settings or Settings.read()
    own = Path.home() / ".kb"
    if not os.environ.get("BANKML_HOME", "").strip() and own.is_dir():
        return own / FILE
    return settings.home / FILE
