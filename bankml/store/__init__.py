"""The one file of a knowledge base: documents, their passages, the words and the vectors of these."""

from bankml.store.bound import Bound
from bankml.store.documents import DocumentRow, Replaced
from bankml.store.passage import TEXT_RECIPE, Passage
from bankml.store.place import place
from bankml.store.store import Store

__all__ = ["TEXT_RECIPE", "Bound", "DocumentRow", "Passage", "Replaced", "Store", "place"]
