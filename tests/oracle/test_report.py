"""The table of figures."""

from pathlib import Path

from oracle import report
from oracle.report import Row

ROWS = [Row("a|b", "c", "0.5", "≥ 0.4", True), Row("d", "e", "0.1", "≥ 0.4", False)]


def test_a_failure_stands_out_and_bars_are_escaped() -> None:
    lines = report.table(ROWS).splitlines()
    assert lines[2] == "| a\\|b | c | 0.5 | ≥ 0.4 | yes |"
    assert lines[3] == "| d | e | 0.1 | ≥ 0.4 | **NO** |"


def test_parts_replace_their_own_figures_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"before\n{report.START}\n{report.END}\nafter\n", encoding="utf-8")
    report.write({"one": ROWS[:1], "two": ROWS[1:]}, "first", path)
    report.write({"two": ROWS[:1]}, "second", path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{report.START}\n")
    assert text.endswith(f"{report.END}\nafter\n")
    one, two = text.split("### ")[1:]
    assert one.startswith("one\n")
    assert "`first`" in one
    assert two.startswith("two\n")
    assert "`second`" in two
    assert "**NO**" not in text
    assert f"numpy {report.versions()['numpy']}" in two
    report.write({"two": ROWS[:1]}, "second", path)
    assert path.read_text(encoding="utf-8") == text


def test_the_readme_has_a_place_for_the_table() -> None:
    text = report.README.read_text(encoding="utf-8")
    assert text.count(report.START) == text.count(report.END) == 1
