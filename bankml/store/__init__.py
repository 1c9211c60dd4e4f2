"""The one file of a knowledge base: documents and records, their passages, the words and the vectors of these."""

from bankml.store.bound import Bound
from bankml.store.documents import DocumentRow, Replaced
from bankml.store.feedback import Feedback
from bankml.store.passage import TEXT_RECIPE, Passage
from bankml.store.place import place
from bankml.store.record import Assertion, Cited, Record
from bankml.store.store import Store

__all__ = [
    "TEXT_RECIPE",
    "Assertion",
    "Bound",
    "Cited",
    "DocumentRow",
    "Feedback",
    "Passage",
    "Record",
    "Replaced",
    "Store",
    "place",
]
