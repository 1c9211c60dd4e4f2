"""Exit statuses and errors, the same for every command."""

import subprocess
import sys

import pytest

from tests.raw_gguf import string, valid


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

    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert {"embed", "tokenize", "models", "info", "pull", "verify", "serve"} <= set(names)
    for name in names:
        assert b"--json" in here(name, "--help").out


def test_a_usage_error_names_what_is_wrong(here):
    for arguments, wrong in ((["embed", "--nonesuch"], "--nonesuch"), (["serve", "--port", "99999"], "'--port'")):
        plain, as_json = here(*arguments), here(*arguments, "--json")
        assert (plain.status, as_json.status, as_json.err) == (2, 2, b"")
        assert (plain.err.count(b"\n"), plain.err.startswith(b"bankml: ")) == (1, True)
        assert wrong in as_json.out.lines[0]["error"]


def test_no_command_is_the_help(command):
    assert b"Usage: bankml" in command().out + command().err


@pytest.mark.parametrize(
    "line",
    [
        "embed --model {minilm} a",
        "embed --model {minilm} a --json",
        "models",
        "--version",
        "info {minilm}",
        "serve --native --port 0 --model {minilm}",
        "--help",
        "info nothing.gguf --json",
    ],
)
@pytest.mark.parametrize(("sink", "told"), [(">/dev/full", "cannot be written"), (">&-", "closed")])
def test_an_output_that_takes_nothing(shell, stocked_home, minilm, line, sink, told):
    done = shell(f"{line.format(minilm=minilm)} {sink}")
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert (last.startswith("bankml: "), told in last, "Traceback" in done.stderr) == (True, True, False), done.stderr
    assert "Exception" not in done.stderr


def test_a_file_that_fails_is_not_the_output(command, monkeypatch):
    home = "/" + "a/" * 3000
    monkeypatch.setenv("BANKML_HOME", home)
    plain, as_json = command("models"), command("models", "--json")
    assert (plain.status, plain.out, plain.err.count(b"\n")) == (1, b"", 1)
    assert plain.err.startswith(f"bankml: {home}models".encode())
    assert b"File name too long; " in plain.err
    assert b"output" not in plain.err
    assert (as_json.status, as_json.err) == (1, b"")
    assert as_json.out.lines == [{"error": plain.err.decode().removeprefix("bankml: ").strip()}]


def test_a_large_answer_that_nothing_takes(shell, tmp_path):
    path = tmp_path / "m.gguf"
    model = valid("wordpiece")
    model.more_keys.append(("note", string("long " * 100_000)))
    path.write_bytes(model.bytes())
    for options in ("", "--json"):
        done = shell(f"info {path} {options} >/dev/full")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "the output cannot be written (No space left on device)" in done.stderr
        done = shell(f"info {path} {options} | head -c 10")
        assert (len(done.stdout), done.stderr) == (10, "")


def test_a_line_of_stdin_that_does_not_end(shell, minilm):
    done = shell(f"tokenize --model {minilm} - < /dev/zero")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "line 1 of stdin is longer than 64 MiB; put each text on a line of its own"
    )


def test_a_stdin_that_is_closed(shell, minilm):
    for name in ("embed", "tokenize"):
        done = shell(f"{name} --model {minilm} - <&-")
        assert (done.returncode, done.stdout) == (1, "")
        assert "stdin is closed" in done.stderr.splitlines()[-1]
    assert shell(f"tokenize --model {minilm} a <&-").returncode == 0
    assert shell(f"tokenize --model {minilm} a 2>&-").returncode == 0


@pytest.fixture
def shell():
    """Runs `bankml …` with redirections."""

    def run(line: str) -> subprocess.CompletedProcess:
        command = f"{sys.executable} -m bankml {line}"
        return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)

    return run


def test_an_interrupt_while_modules_are_imported_is_no_traceback():
    script = (
        "import sys, bankml.cli\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'typer':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "bankml.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
