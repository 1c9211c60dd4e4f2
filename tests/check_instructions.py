"""Instructions that small fixed cases take, against this compiler's baseline. Run by `make check`; `--write` makes it.

callgrind counts what tests/instructions/count.cpp runs, on one thread, with the backends `scalar` and `avx2` (valgrind
knows no AVX-512). A count does not depend on how busy the machine is, so a small change is seen on any.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "build" / "cpp" / "bankml_instructions"  # made by `make test-cpp`
BASELINES = ROOT / "tests" / "instructions"
TOLERANCE = 0.02
REFRESH = "make instructions-baseline"

Counts = dict[str, int]


def compiler() -> str:
    """What the program was compiled with, as "gcc-12.2-x86_64"."""
    done = subprocess.run([PROGRAM], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


def count(valgrind: str) -> Counts:
    """Case → instructions, in the order they ran."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "case"
        counted = [f"--{option}=bankml_counted" for option in ("toggle-collect", "dump-after")]
        command = [valgrind, "--tool=callgrind", *counted, f"--callgrind-out-file={out}", str(PROGRAM)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"instructions: {' '.join(command)} failed:\n{done.stderr}")
        names = done.stdout.splitlines()[1:]
        return {name: collected(out.with_name(f"case.{i}").read_text()) for i, name in enumerate(names, 1)}


def collected(dump: str) -> int:
    """The instructions of one of callgrind's files."""
    total = re.search(r"^totals: (\d+)$", dump, re.MULTILINE)
    assert total, f"callgrind wrote no total:\n{dump[:1000]}"
    return int(total[1])


def differences(baseline: Mapping[str, int], counted: Mapping[str, int]) -> list[str]:
    """What is wrong, a sentence for each case."""
    out = []
    for name in {**baseline, **counted}:
        if name not in counted:
            out.append(f"{name}: was not counted; if it was taken out: {REFRESH}")
        elif name not in baseline:
            out.append(f"{name}: has no baseline: {REFRESH}")
        else:
            out += difference(name, baseline[name], counted[name])
    return out


def difference(name: str, before: int, now: int) -> list[str]:
    """Nothing, or the sentence about a case whose count moved by more than the tolerance, either way."""
    change = now / before - 1
    if abs(change) <= TOLERANCE:
        return []
    words = "worse" if change > 0 else f"better: refresh the baseline, {REFRESH}"
    return [f"{name}: {before:,} -> {now:,} instructions, {100 * change:+.1f} %, {words}"]


def expected(baseline: Mapping[str, int], cpu_flags: str) -> Counts:
    """The baseline without the cases of a backend that this CPU does not run."""
    lacking = {"avx2"} - set(cpu_flags.split())
    return {name: instructions for name, instructions in baseline.items() if name.split()[0] not in lacking}


def check(valgrind: str) -> int:
    """The exit status."""
    file = BASELINES / f"{compiler()}.json"
    if not file.exists():
        print(f"instructions: skipped, there is no baseline for {file.stem}; make one on a sound commit: {REFRESH}")
        return 0
    baseline = expected(json.loads(file.read_text()), Path("/proc/cpuinfo").read_text())
    counted = count(valgrind)
    found = differences(baseline, counted)
    print("\n".join(found) or f"instructions: {len(counted)} cases within {TOLERANCE:.0%} of {file.stem}")
    return 1 if found else 0


def write(valgrind: str) -> int:
    """Writes the baseline of this compiler; the exit status."""
    file = BASELINES / f"{compiler()}.json"
    counted = count(valgrind)
    file.write_text(json.dumps(counted, indent=1) + "\n")
    print(f"instructions: {len(counted)} cases in {file.relative_to(ROOT)}")
    return 0


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    writing = "--write" in arguments
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print(f"instructions: {'not counted' if writing else 'skipped'}, needs valgrind (package valgrind)")
        return 1 if writing else 0
    return write(valgrind) if writing else check(valgrind)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
