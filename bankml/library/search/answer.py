"""What a search found, as JSON has it: the same on the command line and for agents."""

from dataclasses import asdict
from typing import Any

from bankml.library.search.hit import Found
from bankml.library.search.snippet import snippet


def answer(found: Found, explain: bool = False) -> dict[str, Any]:
    """`results` with a `snippet` of each, and `status`; `explained` on demand."""
    results = [{**asdict(hit), "snippet": snippet(hit.text, found.marks)._asdict()} for hit in found.results]
    return {"results": results, "status": found.status} | ({"explained": found.explained} if explain else {})
