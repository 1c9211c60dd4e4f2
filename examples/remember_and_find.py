"""Writes exchanges to a history and finds one by what it means: `python examples/remember_and_find.py [FILE]`."""

import sys
import tempfile
from pathlib import Path

from bankml import history, memory
from bankml.history.append import append

path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "notes.history"
append(path, {"user": "Where is the spare key?", "assistant": "Under the third flowerpot."})
append(path, {"user": "What did the vet say?", "assistant": "The cat may eat again; half a tin in the evening."})
append(path, {"user": "Which bus goes to the harbour?", "assistant": "The 14, every twenty minutes."})

if memory.status()["ready"]:
    memory.index(path)  # optional: a search would do it in the background
found = history.search(path, "feeding a pet", k=1)
print(found.results[0].assistant if found.results else "nothing")
print(found.status)
