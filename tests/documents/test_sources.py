"""Which files are documents: what was named, what lies in folders, what is left out, and what cannot be read."""

import os
import socket
import subprocess
import sys
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankml.documents import Failure, Options, Source, sources
from bankml.errors import ChangedError, InputError


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(folder: Path, *names: str, content: str = "text") -> None:
    """Files of these names, with the folders that they are in."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def names(found, folder: Path) -> list[str]:
    """Paths below the folder of what was found, none of it a Failure."""
    return [os.path.relpath(source.path, folder) for source in listed(found)]


def listed(found) -> list[Source]:
    found = list(found)
    assert not [one for one in found if isinstance(one, Failure)]
    return found


@pytest.mark.parametrize("name", ["a.md", "A.TXT", "README", "Makefile", "x.pdf", "y.docx", "mod.py", "data.jsonl"])
def test_names_that_are_known(folder, name):
    made(folder, name)
    assert names(sources(["."]), folder) == [name]


@pytest.mark.parametrize("name", ["a.png", "a.zip", "a.o", "a.md.bak", "a.mp4"])
def test_names_that_are_not(folder, name):
    made(folder, name)
    assert names(sources(["."]), folder) == []
    assert names(sources([name]), folder) == [name]


def failure(found) -> Failure:
    [one] = found
    assert isinstance(one, Failure)
    return one


def test_a_folder_sorted_whatever_it_is_called_by(folder):
    made(folder, "docs/b.md", "docs/a/z.txt", "docs/a/y.txt", "docs/c.md", "other.md")
    for way in ("docs", folder / "docs", "./docs/", "docs/../docs"):
        assert names(sources([way]), folder) == ["docs/a/y.txt", "docs/a/z.txt", "docs/b.md", "docs/c.md"]
    first = next(sources(["docs"]))
    assert isinstance(first.path, Path)
    assert first.path.is_absolute()
    assert (first.size, first.modified) == (4, int((folder / "docs/a/y.txt").stat().st_mtime))


def test_named_files_come_first_and_nothing_comes_twice(folder):
    made(folder, "a/x.md", "a/b/y.md", "z.md")
    os.link(folder / "z.md", folder / "a/hard.md")
    (folder / "link.md").symlink_to("z.md")
    found = names(sources(["a", "a/b", "z.md", "a/b/y.md", "./z.md", "a", "link.md"]), folder)
    assert found == ["z.md", "a/b/y.md", "a/x.md"]


def test_hidden_files_only_if_named_or_asked_for(folder):
    made(folder, ".top.md", "a/.hidden.md", "a/.config/x.md", "a/seen.md")
    assert names(sources(["."]), folder) == ["a/seen.md"]
    assert names(sources([".top.md", "a/.config"]), folder) == [".top.md", "a/.config/x.md"]
    every = [".top.md", "a/.config/x.md", "a/.hidden.md", "a/seen.md"]
    assert names(sources(["."], options=Options(hidden=True)), folder) == every


def test_folders_of_other_programs(folder):
    made(
        folder, "node_modules/m/readme.md", ".git/x.md", "env/pyvenv.cfg", "env/lib.md", "a/__pycache__/x.md", "a/b.md"
    )
    made(folder, "target/CACHEDIR.TAG", "target/x.md", content="Signature: 8a477f597d28d172789f06886806bc55\n")
    made(folder, "own/CACHEDIR.TAG", "own/x.md")
    skipped = Counter()
    found = names(sources(["."], options=Options(hidden=True), skipped=skipped), folder)
    assert found == ["a/b.md", "own/x.md"]
    assert skipped == {"noise": 5, "type": 1}
    assert names(sources(["node_modules", "env"]), folder) == [
        *("node_modules/m/readme.md", "env/lib.md", "env/pyvenv.cfg")
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("a.svg", "picture"), ("x.min.js", "generated"), ("searchindex.js", "generated"), ("prod.env", "secret"),
     ("package-lock.json", "generated"), ("pnpm-lock.yaml", "generated"), ("id_rsa", "secret"), (".env", "secret")],
)  # fmt: skip
def test_files_that_are_no_documents_unless_they_are_asked_for(folder, name, reason):
    made(folder, f"a/{name}", "a/b.md")
    skipped = Counter()
    hidden = Options(hidden=True)
    assert names(sources(["a"], options=hidden, skipped=skipped), folder) == ["a/b.md"]
    assert skipped == {reason: 1}
    assert names(sources(["a"], ["a/**"], options=hidden), folder) == ["a/b.md"]
    assert names(sources(["a"], [name], options=hidden), folder) == [f"a/{name}"]
    assert names(sources(["a"], [f"*.{name.rpartition('.')[2]}"] if "." in name else [name], options=hidden), folder)
    assert names(sources([f"a/{name}"]), folder) == [f"a/{name}"]
    assert names(sources([f"*/{name[:-1]}?"], options=hidden), folder) == [f"a/{name}"]


def test_what_a_project_builds_or_brings_along(folder):
    made(folder, "p/package.json", "p/dist/a.md", "p/vendor/b.md", "p/c.md", "docs/build/d.md")
    skipped = Counter()
    assert names(sources(["."], skipped=skipped), folder) == ["docs/build/d.md", "p/c.md", "p/package.json"]
    assert skipped == {"generated": 2}
    assert names(sources(["p/dist"]), folder) == ["p/dist/a.md"]
    assert names(sources(["p"], ["dist/**"]), folder) == ["p/dist/a.md"]


def test_programs_that_nobody_wrote(folder):
    made(folder, "a.js", content="x=1;" * 200 + "\n" + "y=2;" * 100)
    made(folder, "b.md", content="long " * 200)
    made(folder, "c.js", content="short();\n" * 20 + "x" * 2000)
    skipped = Counter()
    assert names(sources(["."], skipped=skipped), folder) == ["b.md", "c.js"]
    assert skipped == {"generated": 1}


def test_ignored_files(folder):
    made(folder, "docs/a.md", "docs/b.log", "docs/keep.log", "docs/deep/c.log", "docs/deep/keep.log", "docs/out/d.md")
    made(folder, "docs/deep/own.md", "docs/e.md", "docs/deep/out/f.md")
    made(folder, "docs/.gitignore", content="*.log\n!keep.log\n/out/\n")
    made(folder, "docs/deep/.gitignore", content="own.md\n")
    made(folder, "docs/.ignore", content="e.md\n")
    skipped = Counter()
    assert names(sources(["docs"], skipped=skipped), folder) == [
        *("docs/a.md", "docs/deep/keep.log", "docs/deep/out/f.md", "docs/keep.log")
    ]
    assert skipped["ignored"] == 5
    assert names(sources(["docs/b.log"]), folder) == ["docs/b.log"]
    assert names(sources(["docs/out"]), folder) == ["docs/out/d.md"]


def test_a_repository_above_the_folder(folder):
    made(folder, ".gitignore", content="*.secret.md\nbuild\n")
    made(folder, "repository/.gitignore", content="*.tmp.md\nsub/docs/no.md\nbuild\n")
    made(folder, "repository/.git/info/exclude", content="mine.md\n")
    made(folder, *(f"repository/sub/docs/{name}.md" for name in ("yes", "no", "a.tmp", "a.secret", "mine")))
    made(folder, "repository/sub/docs/build/x.md", "repository/build/x.md", "plain/a.secret.md")
    found = names(sources(["repository/sub"]), folder)
    assert found == ["repository/sub/docs/a.secret.md", "repository/sub/docs/yes.md"]
    assert names(sources(["."]), folder) == found  # one repository's patterns say nothing of another one within it
    assert names(sources(["repository/build", "plain"]), folder) == ["repository/build/x.md", "plain/a.secret.md"]


NAMES = st.sampled_from(("a", "b", "a.md", "b.md", "ab", "a b", "a\nb.md"))
PARTS = st.sampled_from(
    ("*", "**", "?", "a", "b", "*.md", "[ab]", "a*", "!a", "[!a]", "\\a", "", "***", "a**b", "*a*b*")
)
PATTERNS = st.lists(
    st.tuples(
        st.sampled_from(("", "!", "/", "!/")),
        st.lists(PARTS, min_size=1, max_size=4).map("/".join),
        st.sampled_from(("", "/", " ", "\\ ", "\r")),
    ).map("".join),
    max_size=4,
)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.sets(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=12), PATTERNS, PATTERNS)
def test_as_git_does_it(paths, rules, deeper):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in sorted(paths):
            if not any(other.startswith(f"{path}/") for other in paths):
                made(folder, path)
        made(folder, ".gitignore", content="\n".join(rules))
        if (folder / "a").is_dir():
            made(folder, "a/.gitignore", content="\n".join(deeper))
        subprocess.run(["git", "init", "-q", name], check=True)
        command = ["git", "-C", name, "ls-files", "-z", "--others", "--exclude-standard"]
        expected = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
        visible = {name for name in expected if name and not name.startswith(".") and "/." not in name}
        assert set(names(sources([name]), folder)) == visible


def test_include_and_exclude(folder):
    made(folder, "docs/a.md", "docs/b.txt", "docs/drafts/c.md", "docs/c.bin", "docs/d.odd")
    known = Options(known=lambda name: name.endswith((".md", ".txt")))
    assert names(sources(["docs"], include=["*.md"]), folder) == ["docs/a.md", "docs/drafts/c.md"]
    assert names(sources(["docs"], exclude=["drafts/", "*.bin"]), folder) == ["docs/a.md", "docs/b.txt"]
    assert names(sources(["docs"], exclude=["docs/drafts"], options=known), folder) == ["docs/a.md", "docs/b.txt"]
    assert names(sources(["docs"], ["*", "!c.md"], options=known), folder) == ["docs/a.md", "docs/b.txt"]
    assert names(sources(["docs"], ["*.odd"], options=known), folder) == ["docs/d.odd"]
    assert names(sources(["docs/d.odd"], ["*.md"], ["*.odd"], known), folder) == ["docs/d.odd"]
    skipped = Counter()
    assert len(listed(sources(["docs"], options=known, skipped=skipped))) == 3
    assert skipped == {"type": 2}


def test_binaries_in_folders_are_passed_over(folder):
    made(folder, "a.md", "utf16.txt")
    (folder / "movie.ts").write_bytes(b"G\x40\x00\x10" * 500)
    (folder / "utf16.txt").write_bytes("Grüße".encode("utf-16"))
    skipped = Counter()
    assert names(sources(["."], skipped=skipped), folder) == ["a.md", "utf16.txt"]
    assert skipped == {"binary": 1}
    assert names(sources(["movie.ts"]), folder) == ["movie.ts"]


def test_patterns_that_no_shell_has_expanded(folder):
    made(folder, "docs/a.md", "docs/b/c.md", "docs/b/d.txt", "docs/b/e/f.md", "docs/no.md", "top.md", "other/g.md")
    made(folder, "docs/.gitignore", content="no.md")
    assert names(sources(["docs/**/*.md"]), folder) == ["docs/a.md", "docs/b/c.md", "docs/b/e/f.md"]
    assert names(sources(["*.md"]), folder) == ["top.md"]
    assert names(sources(["*/*.md"]), folder) == ["docs/a.md", "other/g.md"]
    assert names(sources([f"{folder}/docs/?/*"]), folder) == ["docs/b/c.md", "docs/b/d.txt", "docs/b/e/f.md"]
    assert names(sources(["docs/b/*.md", "docs/b", "docs/**/c.md", "docs/*"]), folder) == [
        *("docs/b/c.md", "docs/a.md", "docs/b/d.txt", "docs/b/e/f.md")
    ]
    made(folder, "docs/[a].md")
    assert names(sources(["docs/[a].md"]), folder) == ["docs/[a].md"]
    for pattern in ("nothing/*.md", "docs/*.pdf"):
        assert "matches no file" in failure(sources([pattern])).error


def test_a_pattern_does_not_look_where_it_cannot_match(folder, monkeypatch):
    made(folder, "a/b/c/d.md", "a/x.md", "b/y.md")
    entered = []
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: entered.append(os.path.relpath(path, folder)) or listdir(path))
    assert names(sources(["a*/*.md"]), folder) == ["a/x.md"]
    assert entered == [".", "a"]


def test_standard_input(folder):
    [found] = sources(["-"], stdin=BytesIO(b"from a pipe"), stdin_name="notes.md")
    assert (found.path, found.read(), found.size) == ("notes.md", b"from a pipe", 11)
    [found] = sources(["-", "-"], stdin=BytesIO(b"x" * 11), options=Options(largest=10))
    with pytest.raises(InputError, match="has more than 10 bytes, and at most 10 bytes of a file are read: split it"):
        found.read()


def test_links_in_folders_are_not_followed_unless_asked(folder):
    made(folder, "docs/a.md", "elsewhere/b.md")
    (folder / "docs/out").symlink_to(folder / "elsewhere")
    (folder / "docs/loop").symlink_to(folder / "docs")
    (folder / "docs/same.md").symlink_to("a.md")
    (folder / "docs/broken.md").symlink_to("nothing")
    skipped = Counter()
    assert names(sources(["docs"], skipped=skipped), folder) == ["docs/a.md"]
    assert skipped == {"link": 4}
    follow = Options(follow_symlinks=True)
    assert names(sources(["docs"], options=follow), folder) == ["docs/a.md", "docs/out/b.md"]
    (folder / "way").symlink_to("docs")
    assert names(sources(["way"]), folder) == ["way/a.md"]
    assert names(sources(["docs/same.md"]), folder) == ["docs/same.md"]


def test_a_link_in_a_circle(folder):
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    assert "leads in a circle" in failure(sources(["one"])).error
    assert listed(sources(["."], options=Options(follow_symlinks=True))) == []


def test_a_file_that_became_a_link_is_not_followed(folder):
    made(folder, "docs/a.md", "secret")
    [found] = sources(["docs"])
    (folder / "docs/a.md").unlink()
    (folder / "docs/a.md").symlink_to(folder / "secret")
    with pytest.raises(InputError, match="symbolic link"):
        found.read()


def test_pipes_sockets_and_devices(folder):
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
        skipped = Counter()
        assert listed(sources(["."], skipped=skipped)) == []
        assert skipped == {"special": 2}
        for path, kind in [("pipe", "a pipe"), ("socket", "a socket"), ("/dev/null", "a device")]:
            assert failure(sources([path])).error.startswith(f"is {kind} and no file")


def test_a_file_that_became_a_pipe_keeps_nobody(folder):
    made(folder, "a.md")
    [found] = sources(["a.md"])
    (folder / "a.md").unlink()
    os.mkfifo(folder / "a.md")
    with pytest.raises(InputError, match="is a pipe and no file"):
        found.read()


def test_names_of_any_bytes(folder):
    raw = [
        b"new\nline.md",
        b"sp ace.md",
        b"\xff\xfe.md",
        b"-",
        "ü.md".encode(),
        b"tab\there.md",
        b"*.md",
        b"\x1b[2J.md",
    ]
    inner = os.path.join(os.fsencode(folder), b"d\n\xff.d")
    os.mkdir(inner)
    for name in raw:
        Path(os.fsdecode(os.path.join(inner, name))).write_bytes(name)
    found = listed(sources([folder]))
    expected = sorted(raw, key=os.fsdecode)
    assert [os.fsencode(source.path.name) for source in found] == expected
    assert [source.read() for source in found] == expected
    made(folder, ".gitignore", content="*.md")
    assert [source.path.name for source in listed(sources([folder]))] == ["-"]


def test_what_is_not_there(folder):
    made(folder, "a.md")
    found = list(sources(["gone.md", "a.md", "a.md/b", "", "nul\0", "\ud800", "x" * 300]))
    errors = {str(one.path): one.error for one in found if isinstance(one, Failure)}
    assert len(found) == 7
    assert "is not there" in errors[str(folder / "gone.md")]
    assert "no folder" in errors[str(folder / "a.md/b")]
    assert all("is no path" in errors[path] for path in ("", "nul\0", "\ud800"))
    assert "longer name" in errors[str(folder / ("x" * 300))]


def test_the_knowledge_base_itself(folder):
    made(folder, "kb.db", "kb.db-wal", "kb.db-shm", "kb.db.md", "a.md", "matrix.bin")
    options = Options(own=[Path("kb.db"), folder / "matrix.bin"])
    assert names(sources(["."], options=options), folder) == ["a.md", "kb.db.md"]
    (folder / "link").symlink_to("kb.db")
    assert all("own file" in failure(sources([path], options=options)).error for path in ("kb.db", "link", "kb.db-wal"))


def test_a_file_above_the_limit_is_not_read(folder):
    with (folder / "big.txt").open("wb") as file:
        file.truncate(1 << 30)
    [found] = sources(["big.txt"])
    tracemalloc.start()
    with pytest.raises(InputError, match="has 1,074 MB, and at most 67 MB of a file are read: split it"):
        found.read()
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_reading_takes_the_memory_of_the_content(folder):
    (folder / "a.txt").write_bytes(bytes(20 << 20))
    [found] = sources(["a.txt"])
    tracemalloc.start()
    assert len(found.read()) == 20 << 20
    assert tracemalloc.get_traced_memory()[1] < 21 << 20
    tracemalloc.stop()


def changing(monkeypatch, path: Path, times: int):
    """The file gets a byte behind our back in each of the first so many readings."""
    read, left = os.read, [times]

    def writing(descriptor, size):
        content = read(descriptor, size)
        if left[0]:
            left[0] -= 1
            with path.open("ab") as file:
                file.write(b"+")
        return content

    monkeypatch.setattr(os, "read", writing)


def test_a_file_that_changes_is_read_again(folder, monkeypatch):
    made(folder, "a.md")
    [found] = sources(["a.md"])
    changing(monkeypatch, folder / "a.md", 1)
    assert found.read() == b"text+"
    assert (found.size, found.modified) == (5, int((folder / "a.md").stat().st_mtime))


def test_a_file_that_keeps_changing(folder, monkeypatch):
    made(folder, "a.md")
    [found] = sources(["a.md"])
    changing(monkeypatch, folder / "a.md", 100)
    with pytest.raises(ChangedError, match="changed each time it was read: add it when it is written"):
        found.read()


def test_a_file_that_is_gone(folder):
    made(folder, "a.md")
    [found] = sources(["a.md"])
    (folder / "a.md").unlink()
    with pytest.raises(InputError, match="is not there"):
        found.read()


@contextmanager
def nobody() -> Iterator[None]:
    """Root may read everything; somebody else may not."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_what_may_not_be_read_stops_nothing():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder, "a/locked.md", "b/x.md", "c/.gitignore", "c/x.md", "d.md")
        folder.chmod(0o755)
        for path in ("a/locked.md", "b", "c/.gitignore"):
            (folder / path).chmod(0)
        with nobody():
            found = list(sources([folder, folder / "a/locked.md", folder / "b/x.md"]))
            errors = {os.path.relpath(one.path, folder): one.error for one in found if isinstance(one, Failure)}
            assert set(errors) == {"b", "b/x.md", "c"}
            assert "is left out, as its .gitignore cannot be read (Permission denied)" in errors["c"]
            assert all("may not be read by you" in errors[path] for path in ("b", "b/x.md"))
            [locked, readable] = [one for one in found if isinstance(one, Source)]
            with pytest.raises(InputError, match="may not be read by you: change its mode"):
                locked.read()
            assert readable.read() == b"text"
        (folder / "b").chmod(0o755)


def test_hostile_files_of_patterns(folder):
    made(folder, *(f"{name}/a.md" for name in ("fifo", "folder/.gitignore", "long", "link", "odd")))
    os.mkfifo(folder / "fifo/.gitignore")
    made(folder, "long/.gitignore", content="x\n" * 200_000)
    made(folder, "elsewhere", content="a.md")
    (folder / "link/.gitignore").symlink_to(folder / "elsewhere")
    (folder / "odd/.gitignore").write_bytes(b"\xff\xfe\n[\n!\n/\n[z-a]\n\\\n\0\n***\0")
    found = list(sources(["."]))
    errors = {one.path.name: one.error for one in found if isinstance(one, Failure)}
    assert set(errors) == {"long"}
    assert "as its .gitignore has more than 131,072 bytes: shorten that" in errors["long"]
    rest = {os.path.relpath(one.path, folder) for one in found if isinstance(one, Source)}
    assert rest == {"elsewhere", "fifo/a.md", "link/a.md", "odd/a.md"}


def test_a_folder_in_a_folder_in_a_folder(folder):
    try:
        for _ in range(2100):
            os.mkdir("d")
            os.chdir("d")
        os.chdir(folder)
        assert "longer name than the system takes" in failure(sources(["."])).error
    finally:
        subprocess.run(["rm", "-rf", folder / "d"], check=True)  # pytest's own way of removing it is recursive


def test_files_are_not_held(folder):
    for number in range(5_000):
        (folder / f"{number:06}").touch()
    code = (
        "import sys, tracemalloc; from bankml.documents import sources; tracemalloc.start();"
        "print(sum(1 for _ in sources(sys.argv[1:])), tracemalloc.get_traced_memory()[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    found, most = map(int, done.stdout.split())
    assert found == 5_000
    assert most / found < 150  # bytes a file: the names of one folder, which are sorted
