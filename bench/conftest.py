"""The rates of this machine, and what the JSON says of it."""

import os
from typing import Any

import pytest

from bench import peak
from oracle import report


@pytest.fixture(scope="session")
def threads() -> int:
    """CPUs this process may use: both engines take them all."""
    return len(os.sched_getaffinity(0))


def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """Adds versions, load and measured rates to pytest-benchmark's own facts."""
    threads = len(os.sched_getaffinity(0))
    machine_info["machine"] = report.machine()
    machine_info["versions"] = report.versions()
    machine_info["load_after"] = os.getloadavg()
    machine_info["read_bytes_per_second"] = {str(n): peak.read_rate(n) for n in sorted({1, threads})}
    machine_info["f32_operations_per_second"] = {
        name: {str(n): peak.flops(name, n) for n in sorted({1, threads})} for name in peak.levels()
    }
