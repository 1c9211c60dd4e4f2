"""Memory that is available, told from made-up trees of /proc and /sys, and from a real cgroup where one can be made."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bankml.available import Available, available
from tests import cgroup

MB = 1_000_000
MEMINFO = "MemTotal: 16000000 kB\nMemFree: 100 kB\nMemAvailable:    8000000 kB\nSwapFree: 5 kB\n"
MACHINE = 8_000_000 * 1024
V2_MOUNT = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"
V1_MOUNTS = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory\n"
)


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def v2(folder: str, limit: str, used: int, cache: int = 0, **more: str) -> dict[str, str]:
    at = f"sys/fs/cgroup/{folder}"
    stat = f"anon 5\nfile 77\ninactive_file {cache}\nactive_file {cache}\n"
    files = {"memory.max": f"{limit}\n", "memory.current": f"{used}\n", "memory.stat": stat, **more}
    return {f"{at}/{name}": content for name, content in files.items()}


def v1(folder: str, limit: int, used: int, cache: int = 0) -> dict[str, str]:
    at = f"sys/fs/cgroup/memory/{folder}"
    stat = f"cache 1\ninactive_file 1\nactive_file 1\ntotal_inactive_file {cache}\ntotal_active_file {cache}\n"
    files = {"memory.limit_in_bytes": limit, "memory.usage_in_bytes": used, "memory.stat": stat}
    return {f"{at}/{name}": str(content) for name, content in files.items()}


def proc(group: str, mounts: str) -> dict[str, str]:
    return {"proc/meminfo": MEMINFO, "proc/self/cgroup": group, "proc/self/mountinfo": mounts}


def test_the_machine_alone(tmp_path: Path) -> None:
    machine = Available(MACHINE, "MemAvailable of /proc/meminfo")
    assert available(tree(tmp_path / "a", {"proc/meminfo": MEMINFO})) == machine
    no_limit = proc("0::/user.slice\n", V2_MOUNT) | v2("user.slice", "max", 9 * MB) | v2(".", "max", 9 * MB)
    assert available(tree(tmp_path / "b", no_limit)) == machine


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    assert available(tmp_path) is None
    assert available(tree(tmp_path, {"proc/meminfo": "MemTotal: 5 kB\n"})) is None


@pytest.mark.parametrize("tight", ["a", "a/b", "a/b/c"])
def test_the_tightest_of_all_ancestors_counts(tmp_path: Path, tight: str) -> None:
    files = proc("0::/a/b/c\n", V2_MOUNT)
    for folder in ("a", "a/b", "a/b/c"):
        files |= v2(folder, str(900 * MB if folder == tight else 2000 * MB), 500 * MB, cache=30 * MB)
    expected = Available(460 * MB, f"the memory limit of the cgroup /sys/fs/cgroup/{tight}")
    assert available(tree(tmp_path, files)) == expected


def test_what_is_throttled_is_a_limit_too(tmp_path: Path) -> None:
    files = proc("0::/a\n", V2_MOUNT) | v2("a", "max", 100 * MB, **{"memory.high": f"{300 * MB}\n"})
    found = available(tree(tmp_path, files))
    assert found
    assert found.bytes == 200 * MB


@pytest.mark.parametrize("root", ["/", "/docker/1f"])
def test_version_1_also_inside_a_container(tmp_path: Path, root: str) -> None:
    files = proc("4:memory:/docker/1f/app\n3:cpuset:/\n0::/\n", V1_MOUNTS.format(root=root))
    below = "docker/1f/app" if root == "/" else "app"
    found = available(tree(tmp_path, files | v1(below, 700 * MB, 400 * MB, cache=50 * MB)))
    assert found
    assert (found.bytes, "/sys/fs/cgroup/memory" in found.source) == (400 * MB, True)


def test_a_group_above_its_limit_leaves_nothing(tmp_path: Path) -> None:
    found = available(tree(tmp_path, proc("0::/a\n", V2_MOUNT) | v2("a", str(100 * MB), 200 * MB)))
    assert found
    assert found.bytes == 0


@pytest.mark.parametrize(
    ("group", "mounts"),
    [("0::/../..\n", V2_MOUNT), ("0::/gone\n", V2_MOUNT), ("0::/a\n", ""), ("", V2_MOUNT), ("0::/a b:c\n", V2_MOUNT)],
)
def test_odd_places_fall_back_to_the_machine(tmp_path: Path, group: str, mounts: str) -> None:
    found = available(tree(tmp_path, proc(group, mounts) | v2("a", "max", 5)))
    assert found
    assert found.bytes == MACHINE


INSIDE = """
import json, os, sys
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
from bankml.available import available
before = available()
held = bytearray(os.urandom(1 << 20) * 100)
after = available()
print(json.dumps([before.bytes, before.source, after.bytes]))
"""


def test_a_real_cgroup() -> None:
    with cgroup.limited(400 * MB) as group:
        inside(group)


def inside(group: Path) -> None:
    done = subprocess.run([sys.executable, "-c", INSIDE, str(group)], stdout=subprocess.PIPE, text=True, check=True)
    before, source, after = json.loads(done.stdout)
    assert source == f"the memory limit of the cgroup {group}"
    assert 300 * MB < before <= 400 * MB
    assert 100 * MB < before - after < 115 * MB
