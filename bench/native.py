"""Small native libraries of the bench (peak.cpp, avx2_cpu.c), compiled when first needed and kept by their content."""

import os
import subprocess
from pathlib import Path
from zlib import crc32

from bankml.models import atomic
from oracle import cache

COMPILERS = {".cpp": ("CXX", "c++", "-std=c++20"), ".c": ("CC", "cc", "-std=c11")}


def built(source: Path) -> Path:
    """The shared library of one source file. Raises RuntimeError with the compiler's words when it fails."""
    variable, compiler, standard = COMPILERS[source.suffix]
    command = [os.environ.get(variable, compiler), standard, "-O2", "-shared", "-fPIC", str(source), "-o"]
    recipe = crc32(source.read_bytes(), crc32(repr(command).encode()))
    target = cache.folder() / "native" / f"{source.stem}-{recipe:08x}.so"
    target.parent.mkdir(exist_ok=True)
    if not target.is_file():
        with atomic.lock(target.with_name(f".{target.name}.lock")), atomic.replacement(target) as temporary:
            done = subprocess.run([*command, str(temporary)], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return target
