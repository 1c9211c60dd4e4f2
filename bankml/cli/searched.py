"""What `bankml serve` lets search beside its addresses: a history, a knowledge base, with the server's own models."""

from pathlib import Path
from typing import TYPE_CHECKING

from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.embedders import Embedder
    from bankml.embedders.native import Lender
    from bankml.models import Choice
    from bankml.serve.knowledge import Knowledge
    from bankml.serve.ragebar import Ragebar
    from bankml.serve.session import Session
    from bankml.store import Store


def history(path: Path, choice: "Choice", lender: "Lender", session: "Session", allow_licence: list[str]) -> "Ragebar":
    """A history, by the meaning that the served model gives. Raises StoreError when it cannot be read."""
    from bankml.embedders import NativeEmbedder
    from bankml.history.searcher import Searcher
    from bankml.serve.ragebar import Ragebar

    searcher = Searcher(path, lambda: NativeEmbedder(choice).borrow(lender), allow_licence=allow_licence)
    searcher.search("", 1, 0)
    return Ragebar(path, searcher, session)


def knowledge(db: Path | None, lender: "Lender", session: "Session") -> "Knowledge":
    """A knowledge base, by the meaning that its own model gives. Raises StoreError when it cannot be opened."""
    from bankml.embedders import NativeEmbedder
    from bankml.library.model import binding
    from bankml.serve.knowledge import Knowledge
    from bankml.store import place

    def choose(store: "Store") -> "Embedder":
        found = binding.embedder(store, Settings.read())
        return found.borrow(lender) if isinstance(found, NativeEmbedder) else found

    return Knowledge(place(db), choose, session)


def pages(address: str, token: str, history: Path | None, knowledge: "Knowledge | None", keys: bool) -> dict[str, str]:
    """Where each is searched. Behind a Unix socket the host is whatever is sent."""
    page = f"{'http://localhost' if address.startswith('unix:') else address}/ui"
    found = {"history": f"{page}?token={token}"} if history else {}
    if knowledge:
        found["kb"] = f"{page}?token={token}" if keys else f"{page}#knowledge"
    return found
