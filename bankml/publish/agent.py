"""Who is published: the name in the database, and the one for people."""

import re
from dataclasses import dataclass

from bankml.errors import InputError
from bankml.utf8 import whole

LONGEST = 64


@dataclass(frozen=True)
class Agent:
    """`name` None keeps what the database has, else is the slug. Raises InputError for what is no slug or no name."""

    slug: str
    name: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(rf"[a-z0-9-]{{1,{LONGEST}}}", self.slug):
            shown = f"{self.slug[:LONGEST]}…" if len(self.slug) > LONGEST else self.slug
            raise InputError(
                f"the agent {shown!r} is no slug: give 1 to {LONGEST} of a to z, 0 to 9 and -, such as ada"
            )
        if self.name is not None and not self.name.strip():
            raise InputError(f"the name {self.name!r} is empty: give one, or leave it out")
        if self.name is not None and ("\0" in self.name or whole(self.name) != self.name):
            raise InputError(f"the name {self.name!r} is not text that PostgreSQL can store: write it in UTF-8")
