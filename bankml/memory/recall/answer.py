"""What was recalled, as JSON has it: the same on the command line and for agents."""

from typing import Any

from bankml.memory.recall.compact import compact
from bankml.memory.recall.recalled import Recalled


def answer(found: Recalled, root: bytes, explain: bool = False) -> dict[str, Any]:
    """`results`, each as of `compact`, and `status`; `explained` on demand."""
    results = [compact(memory, root, found.marks) for memory in found.results]
    if not explain:
        return {"results": results, "status": found.status}
    explained = [
        result | {"explained": memory.explained} for result, memory in zip(results, found.results, strict=True)
    ]
    return {"results": explained, "status": found.status, "explained": found.explained}
