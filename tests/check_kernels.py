"""Checks of the kernel files that no test of values can make. Run by `make check`.

- Each kernel file, compiled at -O0, exports exactly one symbol: inline code compiled under one file's ISA flags must
  never be the copy that the linker keeps for the whole program.
- Kernel files are compiled without fast-math and link-time optimisation, whatever flags the environment brings.
- The C++ tests pass on an emulated CPU without AVX (Nehalem): nothing outside kernels/ uses what it lacks.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "csrc" / "kernels"
BUILD = ROOT / "build" / "cpp"  # made by `make test-cpp`


def flags() -> dict[str, list[str]]:
    """Backend name → its ISA flags, as CMakeLists.txt lists them; scalar has none."""
    cmake = (ROOT / "CMakeLists.txt").read_text()
    variables = dict(re.findall(r'set\((BANKML_AVX\w+) "([^"]+)"\)', cmake))
    listed = re.search(r"set\(BANKML_BACKENDS (.*)\)", cmake)
    assert listed, "CMakeLists.txt lists no backends"
    whole = re.sub(r"\$\{(\w+)\}", lambda match: variables[match[1]], listed[1])
    pairs = (entry.split(":") for entry in re.findall(r'"([^"]+)"', whole))
    return {"scalar": []} | {name: options.split() for name, options in pairs}


def exported(backend: str, options: list[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "kernel.o"
        compiler = os.environ.get("CXX", "c++")
        source = KERNELS / f"{backend}.cpp"
        subprocess.run([compiler, "-std=c++20", "-O0", *options, "-c", source, "-o", out], check=True)
        listing = subprocess.run(
            ["nm", "--extern-only", "--defined-only", out], check=True, capture_output=True, text=True
        )
        return [line.split()[-1] for line in listing.stdout.splitlines()]


def check_symbols() -> None:
    for backend, options in flags().items():
        symbols = exported(backend, options)
        assert len(symbols) == 1, f"kernels/{backend}.cpp exports {len(symbols)} symbols, one is allowed: {symbols[:5]}"
        print(f"kernels/{backend}.cpp exports only {symbols[0]}")


def check_old_cpu() -> None:
    emulator = shutil.which("qemu-x86_64-static")
    if emulator is None:
        print("old CPU: skipped, needs qemu-x86_64-static (package qemu-user-static)")
        return
    for part in ("gguf_reads", "dtypes", "registry", "threads_every", "kernels_layer_norm", "engine_fused"):
        subprocess.run([emulator, "-cpu", "Nehalem", BUILD / "bankml_tests", part], check=True)
    print("old CPU: the tests run on an emulated Nehalem")


def check_flags() -> None:
    """The last of contradicting flags wins, so ours must stand behind everything that CXXFLAGS could bring."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    kernels = [
        entry for entry in commands if "/csrc/kernels/" in entry["file"] and not entry["file"].endswith("registry.cpp")
    ]
    assert len(kernels) == len(flags()), f"{len(kernels)} kernel files were compiled, {len(flags())} are listed"
    for entry in kernels:
        options = entry["command"].split()
        for wanted, unwanted in (
            ("-fno-fast-math", "-ffast-math"),
            ("-fno-lto", "-flto"),
            ("-ffp-contract=off", "-Ofast"),
        ):
            assert wanted in options, f"{entry['file']} is compiled without {wanted}"
            behind = options[options.index(wanted) :]
            assert unwanted not in behind, f"{entry['file']} is compiled with {unwanted} behind {wanted}"
    print(f"{len(kernels)} kernel files are compiled without fast-math and link-time optimisation")


if __name__ == "__main__":
    check_symbols()
    check_flags()
    check_old_cpu()
    sys.exit(0)
