"""How long the latest embeddings took: quantiles of the last minute, which a histogram since the start cannot tell."""

import time
from collections import deque
from collections.abc import Callable

WINDOW = 60.0  # seconds
MOST = 2048  # requests that are remembered; at more than 34 a second the window is shorter


class Recent:
    """Durations of requests with when they ended. Belongs to one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.total = 0  # since the start
        self._ended: deque[tuple[float, float]] = deque(maxlen=MOST)  # (when, seconds)

    def add(self, seconds: float) -> None:
        """A request just ended that took this long."""
        self.total += 1
        self._ended.append((self._clock(), seconds))

    def quantiles(self, *shares: float) -> list[float | None]:
        """The duration that each share of the window's requests did not exceed; None when there were none."""
        since = self._clock() - WINDOW
        taken = sorted(seconds for when, seconds in self._ended if when >= since)
        return [taken[min(int(share * len(taken)), len(taken) - 1)] if taken else None for share in shares]
