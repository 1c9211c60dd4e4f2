"""Addresses as Ollama's own OLLAMA_HOST takes them."""

import pytest

from bankml.ollama_address import is_loopback, parse
from bankml.settings import InputError, Settings


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("127.0.0.1:5", "http://127.0.0.1:5"),
        ("somewhere", "http://somewhere:11434"),
        ("somewhere:80/", "http://somewhere:80"),
        (":1234", "http://127.0.0.1:1234"),
        ("http://somewhere", "http://somewhere:80"),
        ("https://somewhere/ollama/", "https://somewhere:443/ollama"),
        ("HTTP://Somewhere:1", "http://somewhere:1"),
        ("[::1]:7", "http://[::1]:7"),
        ("::1", "http://[::1]:11434"),
        ("0.0.0.0", "http://0.0.0.0:11434"),
    ],
)
def test_the_grammar_of_ollama_host(text: str, url: str) -> None:
    assert parse(text) == url
    assert Settings.read({"BANKML_OLLAMA": f" {text} "}).ollama == url


@pytest.mark.parametrize(
    "text", ["ftp://x", "x:port", "x:99999", "http://x?y", "http://me:secret@x", "a b", "x\n/y", "http://[x"]
)
def test_no_address(text: str) -> None:
    with pytest.raises(InputError, match=r"BANKML_OLLAMA is .*set it to an address such as http://127\.0\.0\.1:11434"):
        Settings.read({"BANKML_OLLAMA": text})


def test_the_default_is_ollamas() -> None:
    assert Settings.read({}).ollama == "http://127.0.0.1:11434"


@pytest.mark.parametrize(
    ("text", "here"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9:1", True),
        ("localhost", True),
        ("[::1]:5", True),
        ("0.0.0.0", True),
        ("192.168.0.7", False),
        ("ollama.example", False),
        ("https://localhost.example", False),
        ("[2001:db8::1]", False),
    ],
)
def test_what_stays_on_this_machine(text: str, here: bool) -> None:
    assert is_loopback(parse(text)) is here
