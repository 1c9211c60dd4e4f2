"""Where a record comes from, read without git; a repository may hold anything."""

import os
import subprocess

import pytest

import bankml
from bankml.memory.origin import commit, provenance

SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def git(repository):
    return repository / ".git"


def test_what_is_not_known_is_left_out(repository):
    assert provenance("bankml remember") == {"by": "bankml remember", "bankml": bankml.__version__}
    (repository / ".git" / "HEAD").write_text(f"{SHA}\n")
    found = provenance("claude 1.0", bytes(repository), " me ")
    assert found == {"by": "claude 1.0", "bankml": bankml.__version__, "agent": "me", "commit": SHA}


def test_the_commit_is_what_git_says(tmp_path):
    run = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    folder, worktree = tmp_path / "r", tmp_path / "w"

    def git(*arguments, at=folder):
        done = subprocess.run([*run, *arguments], cwd=at, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    folder.mkdir()
    git("init")
    assert commit(bytes(folder)) == ""  # nothing was committed yet
    git("commit", "--allow-empty", "-m", "one")
    assert commit(bytes(folder)) == git("rev-parse", "HEAD")
    git("pack-refs", "--all")
    git("worktree", "add", "-b", "feature/x", str(worktree))
    git("commit", "--allow-empty", "-m", "two", at=worktree)
    assert commit(bytes(folder)) == git("rev-parse", "HEAD")
    assert commit(bytes(worktree)) == git("rev-parse", "HEAD", at=worktree) != git("rev-parse", "HEAD")
    git("pack-refs", "--all")
    assert commit(bytes(worktree)) == git("rev-parse", "HEAD", at=worktree)
    git("checkout", "--detach", at=worktree)
    assert commit(bytes(worktree)) == git("rev-parse", "HEAD", at=worktree)


@pytest.mark.parametrize(
    "head",
    ["", "ref: ", "ref: refs/../../HEAD", "ref: refs/heads/x\n\nref", "x" * 40, SHA[:39], "ref: /etc/passwd", "\0" * 9],
)
def test_a_head_that_says_nothing(repository, git, head):
    (git / "refs").mkdir()
    (git / "HEAD").write_text(head)
    (repository / "HEAD").write_text(SHA)
    assert commit(bytes(repository)) == ""


def test_a_repository_that_holds_anything(repository, git, tmp_path):
    os.mkfifo(git / "HEAD")
    assert commit(bytes(repository)) == ""
    (git / "HEAD").unlink()
    (git / "HEAD").write_text("ref: refs/heads/main")
    (git / "refs" / "heads" / "main").mkdir(parents=True)
    (git / "packed-refs").write_bytes(
        b"\xff\0" * 99 + f"\n{SHA[::-1]} refs/heads/main2\n{SHA} refs/heads/main\n".encode()
    )
    (git / "commondir").write_text(".")
    assert commit(bytes(repository)) == SHA
    (git / "packed-refs").unlink()
    (git / "packed-refs").symlink_to("/dev/zero")
    assert commit(bytes(repository)) == ""
    link = tmp_path / "link"
    link.mkdir()
    (link / ".git").write_text("gitdir: /dev/fd/../../nowhere\n")
    assert commit(bytes(link)) == ""
    (link / ".git").write_text("ref: refs/heads/main")
    assert commit(bytes(link)) == ""
    assert commit(bytes(tmp_path / "gone")) == ""
    assert commit(b"") == ""
