from importlib.metadata import distribution
from pathlib import Path

import pytest

from bankml.models.licence import Licence, classify, classify_all

MIT = "typer"  # an installed distribution under that licence


def licence_text(package: str, ending: str = "") -> str:
    """The licence file of an installed distribution: real text, as people write it."""
    files = distribution(package).files or []
    return next(f.read_text() for f in files if f.name.startswith("LICENSE") and f.name.endswith(ending))


@pytest.mark.parametrize(
    ("package", "ending", "found"),
    [
        ("typer", "", "MIT"),
        ("rich", "", "MIT"),
        ("pytest", "", "MIT"),
        ("ollama", "", "MIT"),
        ("orjson", "MIT", "MIT"),
        ("orjson", "APACHE", "Apache-2.0"),
        ("openai", "", "Apache-2.0"),
        ("starlette", "", "BSD-3-Clause"),
        ("uvicorn", "", "BSD-3-Clause"),
        ("msgspec", "", "BSD-3-Clause"),
        ("httpx", "", "BSD-3-Clause"),
        ("packaging", ".BSD", "BSD-2-Clause"),
        ("orjson", "MPL-2.0", "MPL-2.0"),
    ],
)
def test_real_texts(package: str, ending: str, found: str) -> None:
    assert classify(licence_text(package, ending)) == Licence(found, True)


@pytest.mark.parametrize(
    ("file", "found"), [("GPL-2", "GPL-2.0"), ("GPL-3", "GPL-3.0"), ("LGPL-3", "LGPL-3.0"), ("CC0-1.0", "CC0-1.0")]
)
def test_texts_that_debian_carries(file: str, found: str) -> None:
    path = Path("/usr/share/common-licenses", file)
    if not path.exists():
        pytest.skip(f"{path} is Debian's")
    assert classify(path.read_text()) == Licence(found, True)


@pytest.mark.parametrize(
    ("identifier", "found"),
    [
        ("mit", Licence("MIT", True)),
        (" MIT\n", Licence("MIT", True)),
        ("apache-2.0", Licence("Apache-2.0", True)),
        ("Apache License, Version 2.0", Licence("Apache-2.0", True)),
        ("license: bsd-3-clause", Licence("BSD-3-Clause", True)),
        ("GPL-3.0-or-later", Licence("GPL-3.0", True)),
        ("cc-by-nc-4.0", Licence("CC-BY-NC-4.0", False)),
        ("gemma", Licence("Gemma", False)),
        ("llama3.1", Licence("Llama3.1", False)),
        ("other", Licence("unknown", False)),
        ("", Licence("unknown", False)),
        ("mit-ish", Licence("unknown", False)),
        ("not mit", Licence("unknown", False)),
    ],
)
def test_identifiers(identifier: str, found: Licence) -> None:
    assert classify(identifier) == found


def test_an_open_text_with_conditions_is_not_open() -> None:
    text = licence_text(MIT)
    for condition in (
        "Commons Clause License Condition v1.0",
        "for non-commercial purposes",
        "an Acceptable\n Use Policy",
    ):
        assert classify(f"{condition}\n{text}") == Licence("unknown", False)
    assert classify(text[: len(text) // 4]) == Licence("unknown", False)


def test_several_texts_must_all_be_open() -> None:
    mit, apache = licence_text(MIT), licence_text("openai")
    assert classify_all([mit, mit, " "]) == Licence("MIT", True)
    assert classify_all([mit, apache]) == Licence("MIT AND Apache-2.0", True)
    assert classify_all([mit, "cc-by-nc-4.0"]) == Licence("MIT AND CC-BY-NC-4.0", False)
    assert classify_all([mit, "some words"]) == Licence("unknown", False)
    assert classify_all([]) == Licence("unknown", False)
