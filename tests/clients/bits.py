"""What answers are compared by."""

from typing import Any

import numpy as np


def bits(rows: Any) -> bytes:
    """The bytes of vectors as float32: every client gets exactly those numbers, in whatever type it shows them."""
    return np.asarray(rows, np.float32).tobytes()
