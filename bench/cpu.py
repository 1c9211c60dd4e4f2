"""Which CPU the engines see: the machine's own, or one with AVX2 and nothing wider (avx2_cpu.c)."""

import math
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

from bench import native
from oracle import report

CPU = Literal["native", "avx2"]
CPUS: tuple[CPU, ...] = get_args(CPU)
SOURCE = Path(__file__).with_name("avx2_cpu.c")
LLAMA = (
    Path(sys.prefix) / "llama-avx2"
)  # llama.cpp chooses its instructions when it is built; `make llama-avx2` does it
LEVELS = ("avx2", "sse")  # of peak.py, by their first word
WIDER = re.compile(r"avx-?512|avx_?vnni|amx|avx10", re.IGNORECASE)
# What glibc's own functions are chosen by: read by the loader, before avx2_cpu.c answers.
TUNABLES = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-AVX512ER,-AVX512PF"


def check(cpu: CPU) -> None:
    """Raises RuntimeError where this machine cannot show such a CPU."""
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    if cpu != "native" and (not flags or "cpuid_fault" not in flags[1].split()):
        raise RuntimeError(
            "this CPU or kernel cannot trap cpuid (`cpuid_fault` is not among the flags in /proc/cpuinfo): "
            "run without --cpu avx2, or on an x86-64 machine that has it"
        )


def environment(cpu: CPU, engine: str) -> dict[str, str]:
    """Of a process in which `engine` shall see that CPU."""
    variables = dict(os.environ)
    if cpu == "native":
        return variables
    variables["LD_PRELOAD"] = str(native.built(SOURCE))
    variables["GLIBC_TUNABLES"] = TUNABLES
    if engine == "llama.cpp":
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(LLAMA), variables.get("PYTHONPATH", "")]))
    return variables


def missing(cpu: CPU, engine: str) -> str:
    """Why an engine cannot be had for that CPU; empty when it can."""
    if cpu == "native" or engine != "llama.cpp":
        return ""
    built = [folder.name.split("-")[1].removesuffix(".dist") for folder in LLAMA.glob("llama_cpp_python-*.dist-info")]
    if not built:
        return "not built for AVX2: run `make llama-avx2`"
    wanted = report.versions().get("llama-cpp-python")
    another = f"built for AVX2 is {built[0]}, not {wanted}: remove {LLAMA.parent}/.llama-avx2"
    return "" if built == [wanted] else f"{another} and run `make llama-avx2`"


def since_avx512() -> float | None:
    """Seconds since any thread of this process used a 512-bit register, as the kernel saw it.

    It looks when it switches to another thread. Infinite when none ever did; None where the kernel does not tell.
    """
    told = []
    for status in Path("/proc/self/task").glob("*/arch_status"):
        with suppress(OSError):  # a thread that ended meanwhile
            told.append(status.read_text(encoding="ascii"))
    elapsed = [int(found[1]) for text in told if (found := re.search(r"AVX512_elapsed_ms:\s*(-?\d+)", text))]
    if not elapsed:
        return None
    return min((ms / 1000 for ms in elapsed if ms >= 0), default=math.inf)


def main() -> None:
    """`python -m bench.cpu`: ends with a sentence where a CPU with AVX2 alone cannot be shown."""
    try:
        check("avx2")
    except RuntimeError as error:
        sys.exit(f"bench: {error}")


def levels(cpu: CPU, names: list[str]) -> list[str]:
    """Of the peak loops, those whose instructions that CPU has."""
    return [name for name in names if cpu == "native" or name.split()[0] in LEVELS]


if __name__ == "__main__":
    main()
