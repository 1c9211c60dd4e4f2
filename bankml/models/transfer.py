"""One file of a hub onto this disk: resumed where it stopped, and checked before it counts."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import quote

from bankml.errors import ModelError
from bankml.models import disk
from bankml.models.digest import fresh_sha256, git_sha1
from bankml.models.hub import Hub, PassingError, UnreachableError
from bankml.models.hub_name import HubName
from bankml.models.progress import Progress
from bankml.models.repository import RepositoryFile
from bankml.sizes import human

T = TypeVar("T")

WAITS = (0.5, 1.0, 2.0)  # seconds before each further try, counted anew whenever bytes have come


@dataclass(frozen=True)
class Transfer:
    """`file` of the state `commit` of a repository, which `name` names with its file, on its way to `target`."""

    hub: Hub
    name: HubName
    commit: str
    file: RepositoryFile
    target: Path

    @property
    def partial(self) -> Path:
        """What came so far. It is named by the file's digest: a part of another state is never continued."""
        return self.target.with_name(f"{self.target.name}.{self.file.identity[:12]}.partial")

    @property
    def missing(self) -> int:
        """Bytes that are still to come."""
        return self.file.size - (self.partial.stat().st_size if self.partial.exists() else 0)

    def run(self, progress: Progress) -> str:
        """Makes `partial` the whole file and gives its sha256; the caller moves it to `target`.

        Raises ModelError saying what is kept; what is not the file that the hub states is deleted.
        """
        with _kept(self.partial), disk.errors(self.target.parent):
            self._complete(progress)
        return self._checked(progress)

    def sweep(self) -> None:
        """Deletes parts of what the file was in another state of its repository."""
        for other in self.target.parent.iterdir():
            ours = other.name.startswith(f"{self.target.name}.") and other.suffix == ".partial"
            if ours and other != self.partial:
                other.unlink()

    def is_there(self) -> bool:
        """Whether `target` is the very file already."""
        if not self.target.is_file() or self.target.stat().st_size != self.file.size:
            return False
        return (fresh_sha256(self.target) if self.file.sha256 else git_sha1(self.target)) == self.file.identity

    def _complete(self, progress: Progress) -> None:
        """Fetches what `partial` lacks, in as many answers as it takes."""
        failures = 0
        with self.partial.open("ab") as out:
            while (done := out.tell()) < self.file.size:
                try:
                    self._continue(out, progress)
                    if out.tell() == done:
                        raise PassingError(
                            f"{self.hub} sent {done:,} of {self.file.size:,} bytes and no more: try again"
                        )
                except PassingError:
                    failures = 1 if out.tell() > done else failures + 1
                    if failures > len(WAITS):
                        raise
                    time.sleep(WAITS[failures - 1])

    def _continue(self, out: IO[bytes], progress: Progress) -> None:
        """One answer's bytes, from where `out` ends."""
        done, size = out.tell(), self.file.size
        path = f"{self.name.repository}/resolve/{self.commit}/{quote(self.file.path)}"
        with self.hub.stream(path, self.name, {"Range": f"bytes={done}-"} if done else {}) as response:
            if done and not _goes_on(response, done):
                done = out.seek(0)
                out.truncate()
            for chunk in response.iter_bytes():
                out.write(chunk[: size - done])
                out.flush()
                done = out.tell()
                progress(f"downloading {self.target.name}", done, size)
                if done == size:  # more may come for ever, and so may nothing
                    return

    def _checked(self, progress: Progress) -> str:
        sha256 = fresh_sha256(self.partial, progress, known_as=self.target)
        found = sha256 if self.file.sha256 else git_sha1(self.partial)
        if found == self.file.identity:
            return sha256
        self.partial.unlink()
        raise ModelError(
            f"{self.name} came with the {'sha256' if self.file.sha256 else 'git sha1'} {found}, not "
            f"{self.file.identity}, and was deleted: pull it again, and if that gives the same set HF_ENDPOINT to "
            "another hub"
        )


def patiently(ask: Callable[[], T]) -> T:
    """What `ask` gives, asked again when the failure may pass. Raises what it raises in the end."""
    for wait in WAITS:
        try:
            return ask()
        except UnreachableError:
            raise
        except PassingError:
            time.sleep(wait)
    return ask()


def _goes_on(response: Any, done: int) -> bool:
    """Whether the answer is the rest; a server may also send the whole file again."""
    return response.status_code == 206 and str(response.headers.get("Content-Range")).startswith(f"bytes {done}-")


@contextmanager
def _kept(partial: Path) -> Iterator[None]:
    """Whatever ends the download says where its part is."""
    try:
        yield
    except ModelError as error:
        raise type(error)("; ".join([str(error), *_part(partial)])) from None
    except KeyboardInterrupt as interrupt:
        interrupt.add_note("; ".join(["interrupted", *_part(partial)]))
        raise


def _part(partial: Path) -> list[str]:
    """A sentence; none where nothing came."""
    try:
        size = partial.stat().st_size
    except OSError:
        return []
    return [f"{human(size)} are kept as {partial}, and the next pull goes on from there"]
