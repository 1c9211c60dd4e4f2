"""Exit statuses and errors, the same for every command."""

import pytest


def test_version(command):
    done = command("--version")
    assert done.status == 0
    assert done.out.startswith(b"bankml 0.")


@pytest.mark.parametrize(
    "arguments",
    [
        ["embed", "--model", "nothing.gguf", "a"],
        ["tokenize", "--model", "nothing.gguf", "a"],
        ["info", "nothing.gguf"],
        ["pull", "nonesuch"],
        ["verify", "nonesuch"],
        ["serve", "--native", "--port", "0", "--model", "nonesuch"],
    ],
)
def test_a_failure_is_one_sentence(here, arguments):
    plain, as_json = here(*arguments), here(*arguments, "--json")
    assert (plain.status, plain.out) == (1, b"")
    assert plain.err.startswith(b"bankml: ")
    assert plain.err.count(b"\n") == 1
    assert (as_json.status, as_json.err) == (1, b"")
    assert as_json.out.lines == [{"error": plain.err.decode().removeprefix("bankml: ").strip()}]


def test_a_failure_of_the_real_command(command):
    done = command("embed", "--model", "nothing.gguf", "a", "--json")
    assert (done.status, done.err) == (1, b"")
    assert "nothing.gguf" in done.out.lines[0]["error"]


@pytest.mark.parametrize("arguments", [["nonesuch"], ["embed", "--nonesuch"], ["serve", "--port", "99999"], ["info"]])
def test_a_usage_error(here, arguments):
    plain, as_json = here(*arguments), here(*arguments, "--json")
    assert (plain.status, plain.out) == (2, b"")
    assert plain.err
    assert as_json.status == 2
    assert "error" in as_json.out.lines[0]


def test_a_text_that_looks_like_the_option(here):
    done = here("embed", "--model", "nothing.gguf", "--", "--json")
    assert (done.status, done.out) == (1, b"")


def test_every_command_has_json(here):
    from bankml.cli.app import app

    names = [command.callback.__name__ for command in app.registered_commands]
    assert {"embed", "tokenize", "models", "info", "pull", "verify", "serve"} <= set(names)
    for name in names:
        assert b"--json" in here(name, "--help").out
