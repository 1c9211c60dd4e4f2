"""A pass: texts of one or several jobs that the encoder works on together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankml.serve.job import Job


@dataclass(frozen=True, slots=True)
class Share:
    """The texts [first, last) of a job."""

    job: Job
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first

    @property
    def ids(self) -> NDArray[np.int32]:
        """Token ids of the texts, one behind the other."""
        starts = self.job.tokens.starts
        return self.job.tokens.ids[starts[self.first] : starts[self.last]]

    @property
    def counts(self) -> NDArray[np.int32]:
        """Tokens of each text."""
        return np.diff(self.job.tokens.starts[self.first : self.last + 1])


@dataclass(frozen=True, slots=True)
class Pass:
    """Shares of jobs of one encoder; at least one."""

    shares: list[Share]
    urgent: bool

    @property
    def tokens(self) -> int:
        """Tokens of all texts."""
        return sum(len(share.ids) for share in self.shares)

    @property
    def texts(self) -> int:
        """How many texts."""
        return sum(map(len, self.shares))

    def waits(self, now: float) -> list[float]:
        """Seconds that those jobs waited whose first texts are among these."""
        return [now - share.job.came for share in self.shares if share.first == 0]

    def encode(self) -> NDArray[np.float32]:
        """Rows (texts, dims) as the model made them; zero for texts that nobody waits for any more."""
        ids = np.concatenate([share.ids for share in self.shares])
        counts = np.concatenate([[0], *(share.counts for share in self.shares)])
        starts = np.cumsum(counts, dtype=np.int32)
        return self.shares[0].job.encoder.encode_pass(ids, starts, self.urgent, self.unwanted)

    def unwanted(self) -> list[int]:
        """The numbers of texts whose jobs are gone."""
        return [
            number for share, first in self._numbered() if share.job.gone for number in range(first, first + len(share))
        ]

    def deliver(self, rows: NDArray[np.float32]) -> None:
        """Give the jobs their rows, and tell those that have all of them; rows of jobs that are gone may be zero."""
        for share, first in self._numbered():
            job = share.job
            if job.gone:
                continue
            job.rows[share.first : share.last] = rows[first : first + len(share)]
            job.done += len(share)
            if job.done == len(job.tokens):
                job.settle()

    def blamed(self, index: int | None) -> tuple[Job, int] | None:
        """The job, and which of its texts, of the text `index` of this pass."""
        for share, first in self._numbered():
            if index is not None and first <= index < first + len(share):
                return share.job, share.first + index - first
        return None

    def without(self, job: Job) -> "Pass":
        """The same without this job's texts; perhaps without any."""
        return Pass([share for share in self.shares if share.job is not job], self.urgent)

    def _numbered(self) -> list[tuple[Share, int]]:
        """Each share with the number of its first text."""
        firsts = np.cumsum([0, *map(len, self.shares)])
        return [(share, int(first)) for share, first in zip(self.shares, firsts, strict=False)]
