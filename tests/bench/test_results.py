"""A run that was cut short goes on; one of other sources, versions or machines does not."""

import json
import subprocess
from pathlib import Path

import pytest

from bench import results
from bench.results import Results

NAMES = ["m 1 x 2", "m 1 x 15", "m start"]


@pytest.fixture
def begun(tmp_path: Path) -> Results:
    """A run with one case of three."""
    found = Results.new("speed-full", tmp_path)
    found.add("cases", "m 1 x 2", {"seconds": {"bankml": 1.0}})
    return found


def test_figures_are_in_the_file_as_soon_as_they_are_there(begun: Results) -> None:
    assert json.loads(begun.file.read_text())["cases"] == {"m 1 x 2": {"seconds": {"bankml": 1.0}}}


def test_a_run_goes_on_with_what_it_lacks(begun: Results, tmp_path: Path) -> None:
    again = Results.latest("speed-full", tmp_path)
    assert again is not None
    assert again.file == begun.file
    assert again.lacking(NAMES) == ["m 1 x 15", "m start"]
    again.add("starts", "m start", {"first_vector": 0.1})
    assert again.lacking(NAMES) == ["m 1 x 15"]
    assert list(json.loads(begun.file.read_text())["cases"]) == ["m 1 x 2"]


def test_another_kind_of_run_is_not_gone_on_with(begun: Results, tmp_path: Path) -> None:
    assert Results.latest("speed", tmp_path) is None
    assert Results.latest("speed-full-avx2", tmp_path) is None


@pytest.mark.parametrize("changed", ["machine", "versions", "sources"])
def test_another_machine_version_or_source_begins_anew(
    begun: Results, tmp_path: Path, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = {**begun.run["key"], changed: "another"}
    monkeypatch.setattr(results, "_key", lambda: key)
    assert Results.latest("speed-full", tmp_path) is None


def test_sources_are_a_commit_and_what_was_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc/a.cpp").write_text("1")
    (tmp_path / "CMakeLists.txt").touch()
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    one = results.sources(tmp_path)
    assert one
    (tmp_path / "elsewhere").touch()
    git("add", ".")
    git("commit", "-m", "two")
    assert results.sources(tmp_path) == one
    (tmp_path / "csrc/a.cpp").write_text("2")
    changed = results.sources(tmp_path)
    assert changed.startswith(f"{one}+")
    (tmp_path / "csrc/a.cpp").write_text("3")
    assert results.sources(tmp_path) != changed


def test_outside_git_there_are_no_sources(tmp_path: Path) -> None:
    assert results.sources(tmp_path) == ""


@pytest.mark.parametrize(
    ("full", "cpu", "name"),
    [(False, "native", "speed"), (True, "native", "speed-full"), (False, "avx2", "speed-avx2"),
     (True, "avx2", "speed-full-avx2")],
)  # fmt: skip
def test_kinds_of_runs(full: bool, cpu: results.CPU, name: str) -> None:
    assert results.part(full, cpu) == name


@pytest.mark.parametrize("content", [None, "no JSON", "{}", '{"profiles": []}'])
def test_a_file_that_is_no_run_is_a_sentence(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "speed-1.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SystemExit, match=r"bench: .*speed-1\.json (cannot be read|is not a run)"):
        results.read(str(file), "cases")
