"""Every hostile file through everything that reads one, in a process that may die of it: a line of JSON a case.

`python -m tests.load_malformed FIRST` starts at case FIRST and prints its number before it loads it.
"""

import io
import json
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from bankml import Encoder
from bankml.cli.app import run
from bankml.models import choose
from bankml.models.description import Description, describe
from tests.malformed import TEXT, cases
from tests.raw_gguf import valid

ROOM = 256 << 20  # bytes of address space beyond what the sound model took


def main(first: int) -> None:
    """Loads the cases from `first` on."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        sound = Path(folder, "sound.gguf")
        sound.write_bytes(valid("wordpiece").bytes())
        encoder = Encoder(sound, threads=1)
        expected = encoder.encode([TEXT]).tobytes()
        command("verify", str(sound))  # imports all that is imported late
        limit_memory()
        for index, case in enumerate(cases()[first:], first):
            print(index, flush=True)
            path = Path(folder, "model.gguf")
            path.write_bytes(case.bytes())
            found = report(path)
            found["sound"] = encoder.encode([TEXT]).tobytes() == expected
            print(json.dumps(found), flush=True)
            path.unlink()


def report(path: Path) -> dict[str, object]:
    """What each reader said, and what loading cost."""
    cpu, memory = usage()
    error = raised(lambda: used(path))
    used_cpu, used_memory = usage()
    return {
        "error": error,
        "cpu": used_cpu - cpu,
        "memory": used_memory - memory,
        "header": raised(lambda: described(path)),
        "info": command("info", str(path)),
        "info --json": command("info", "--json", str(path)),
        "verify": command("verify", str(path)),
    }


def used(path: Path) -> None:
    """Loads the model, encodes a text and reads every weight."""
    with Encoder(path, threads=1) as encoder:
        encoder.encode([TEXT])
        encoder.verify_finite()


def described(path: Path) -> None:
    """Reads all that is said of a file without loading it."""
    description = describe(choose(path))
    for name, member in vars(Description).items():
        if isinstance(member, property):
            getattr(description, name)


def raised(act: Callable[[], None]) -> tuple[str, str]:
    """Name and message of what it raised."""
    try:
        act()
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def command(*arguments: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr; an exception is status -1."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = run(list(arguments))
    except Exception as error:
        return -1, "", repr(error)
    out.seek(0)
    return status, out.read(), err.getvalue()


def usage() -> tuple[float, int]:
    """CPU seconds and the most resident bytes of this process so far."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime, now.ru_maxrss << 10


def limit_memory() -> None:
    """An allocation that a hostile count drives fails here instead of taking the machine's memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM,) * 2)


if __name__ == "__main__":
    main(int(sys.argv[1]))
