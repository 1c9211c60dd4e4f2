from pathlib import Path

import pytest

from bankml.models import model_card


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("---\nlicense: mit\n---\n# A model", "mit"),
        ("---\r\ntags:\r\n- a\r\nlicense: 'apache-2.0' \r\n---\r\n", "apache-2.0"),
        ("---\nlicense: other\nlicense_name: gemma\n---\n", "gemma"),
        ("---\nlicense: mit\nlicense_name: gemma\n---\n", "mit"),
        ("---\nlicense: [mit]\n---\n", "mit"),
        ("---\nlicense:\n- mit\n---\n", ""),
        ("---\ntags:\n  license: mit\n---\n", ""),
        ("---\nlicense: \x1b[31mmit\u202e\n---\n", "\ufffd[31mmit\ufffd"),
        ("---\nlicense: mit\n", ""),
        ("license: mit\n", ""),
        ("", ""),
    ],
)
def test_the_licence_is_that_of_the_front_matter(tmp_path: Path, text: str, licence: str) -> None:
    (tmp_path / "README.md").write_bytes(text.encode())
    assert model_card.licence(tmp_path) == licence


def test_no_card_states_nothing(tmp_path: Path) -> None:
    assert model_card.licence(tmp_path) == ""
    (tmp_path / "README.md").mkdir()
    assert model_card.licence(tmp_path) == ""
