"""The bench of the cache finds what it appended."""

from bench import cache


def test_a_small_run(capsys, tmp_path):
    assert cache.main(["--lines", "1500", "--dims", "16", "--folder", str(tmp_path)]) == 0
    said = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert said == ["append", "build", "open", "search", "follow", "follow"]
    assert not list(tmp_path.iterdir())
