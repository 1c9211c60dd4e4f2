"""Checks of the kernel files that no test of values can make. Run by `make check`.

- Each kernel file, compiled at -O0, exports exactly one symbol: inline code compiled under one file's ISA flags must never be the copy
  that the linker keeps for the whole program.
- The C++ tests pass with BANKML_BACKEND=scalar on an emulated CPU without AVX (Nehalem): nothing outside kernels/ uses what it lacks.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "csrc" / "kernels"


def flags() -> dict[str, list[str]]:
    """Backend name → its ISA flags, as CMakeLists.txt lists them; scalar has none."""
    listed = re.search(r"set\(BANKML_BACKENDS (.*)\)", (ROOT / "CMakeLists.txt").read_text())
    assert listed, "CMakeLists.txt lists no backends"
    pairs = (entry.split(":") for entry in re.findall(r'"([^"]+)"', listed[1]))
    return {"scalar": []} | {name: options.split() for name, options in pairs}


def exported(backend: str, options: list[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "kernel.o"
        compiler = os.environ.get("CXX", "c++")
        source = KERNELS / f"{backend}.cpp"
        subprocess.run([compiler, "-std=c++20", "-O0", *options, "-c", source, "-o", out], check=True)
        listing = subprocess.run(["nm", "--extern-only", "--defined-only", out], check=True, capture_output=True, text=True)
        return [line.split()[-1] for line in listing.stdout.splitlines()]


def check_symbols() -> None:
    for backend, options in flags().items():
        symbols = exported(backend, options)
        assert len(symbols) == 1, f"kernels/{backend}.cpp exports {len(symbols)} symbols, one is allowed: {symbols[:5]}"
        print(f"kernels/{backend}.cpp exports only {symbols[0]}")


def check_old_cpu() -> None:
    emulator, tests = shutil.which("qemu-x86_64-static"), ROOT / "build" / "cpp" / "bankml_tests"
    if emulator is None or not tests.exists():
        print("old CPU: skipped, needs qemu-x86_64-static (package qemu-user-static) and `make test-cpp`")
        return
    environment = os.environ | {"BANKML_BACKEND": "scalar", "BANKML_REQUIRE_BACKENDS": "scalar"}
    for part in ("gguf_reads", "dtypes", "registry", "threads_every", "kernels_layer_norm"):
        subprocess.run([emulator, "-cpu", "Nehalem", tests, part], check=True, env=environment)
    print("old CPU: the tests run on an emulated Nehalem")


if __name__ == "__main__":
    check_symbols()
    check_old_cpu()
    sys.exit(0)
