"""Which texts the next pass takes: of several requests, up to a budget of tokens, from what waits at that moment."""

from bisect import insort

from bankml.serve.job import Job
from bankml.serve.passes import Pass, Share

# Tokens of a pass. More make no pass faster per token (performance.md), and a query that comes after a pass of queries
# began waits for its end.
BUDGET = {False: 1024, True: 512}


class Queue:
    """Jobs in two lanes, the urgent ones and the others. Not safe for threads.

    In a lane the job with the least `due` goes first: the tokens handed out before it came, and its own. So a small job
    overtakes a large one, and a job is overtaken only by what comes while as many tokens are handed out as it has:
    none starves, and equal ones are served in the order they came.
    """

    def __init__(self) -> None:
        self._lanes: dict[bool, list[Job]] = {False: [], True: []}
        self._handed_out = 0

    def add(self, job: Job) -> None:
        """A job that waits; with no texts it must not come here."""
        job.due = self._handed_out + job.size
        insort(self._lanes[job.urgent], job, key=lambda other: other.due)

    def remove(self, job: Job) -> None:
        """Forget a job, if it still waits."""
        lane = self._lanes[job.urgent]
        if job in lane:
            lane.remove(job)

    @property
    def jobs(self) -> list[Job]:
        """All that wait."""
        return [job for lane in self._lanes.values() for job in lane]

    def has(self, urgent: bool) -> bool:
        """Whether a job waits in this lane."""
        return bool(self._lanes[urgent])

    @property
    def tokens(self) -> int:
        """Tokens that no pass has taken."""
        return sum(job.waiting for job in self.jobs)

    def take(self, urgent: bool) -> Pass:
        """The next pass of a lane in which a job waits.

        A text above the budget is a pass of its own. Where a job's next text does not fit, later jobs fill the rest.
        """
        lane, room = self._lanes[urgent], BUDGET[urgent]
        shares: list[Share] = []
        for job in [job for job in lane if job.encoder is lane[0].encoder]:
            end = job.fitting(room, at_least=not shares)
            if end > job.next:
                shares.append(Share(job, job.next, end))
                job.next = end
                room -= len(shares[-1].ids)
            if room <= 0:
                break
        for share in shares:
            if share.job.next == len(share.job.tokens):
                lane.remove(share.job)
        self._handed_out += BUDGET[urgent] - room
        return Pass(shares, urgent)
