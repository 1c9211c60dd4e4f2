"""python -m oracle: prints the table, and its exit status tells whether everything was within tolerance."""

import sys
from pathlib import Path

import pytest

from oracle import __main__ as command
from oracle import vectors


def test_it_exits_0_within_tolerance_and_1_beyond(
    stocked_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["oracle", "--no-write", "--only", "published"])
    assert command.main() == 0
    assert "| all-minilm-l6-v2, 'why is the sky blue?' | published |" in capsys.readouterr().out
    monkeypatch.setattr(vectors, "PUBLISHED", 0.999_999_9)
    assert command.main() == 1
    assert "**NO**" in capsys.readouterr().out
