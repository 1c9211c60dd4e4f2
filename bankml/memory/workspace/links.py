"""Which repositories are linked: written in both stores, where both can be."""

import os
from dataclasses import dataclass
from pathlib import Path

from bankml.errors import Error, InputError, StoreError
from bankml.memory import instant
from bankml.store import Store, config, peers
from bankml.store.peers import Peer
from bankml.store.place import FILE, real
from bankml.utf8 import printable

LONGEST = 100  # characters of a name
MOST = 64  # peers of a store: each is asked by a thread of its own


@dataclass(frozen=True, slots=True)
class Link:
    """`mutual`: the other store knows this one too; else `why` not."""

    peer: Peer
    mutual: bool
    why: str = ""


def add(store: Store, path: Path, name: str | None = None) -> Link:
    """Links the store at `path`, a file or the folder that holds its kb.db, and this one there where it can be written.

    A link of the same path is replaced. Raises InputError for this store itself, a copy of it, a name that is taken or
    none; StoreError where no store is.
    """
    file = real(path / FILE if path.is_dir() else path)
    if file == store.path:
        raise InputError(f"{path} is this very knowledge base: name the one of another repository")
    with _opened(file) as other, other.reading() as db:
        theirs = config.store_id(db)
    with store.writing() as db:
        ours = config.store_id(db)
        if theirs == ours:
            raise InputError(f"{path} is a copy of this knowledge base: link one that was made by itself")
        peer = Peer(os.fsencode(file), named(name) if name else default_name(file), theirs, instant.now())
        _check(peers.listed(db), peer)
        peers.put(db, peer)
    return Link(peer, *_linked_back(store, file, ours))


def remove(store: Store, name: str) -> Link:
    """Unlinks a peer, by its name or its path, there too where that can be written. Raises InputError for none."""
    with store.writing() as db:
        listed = peers.listed(db)
        wanted = os.fsencode(real(Path(name).expanduser()))
        found = [one for one in listed if one.name == name] or [one for one in listed if one.path == wanted]
        if not found:
            names = ", ".join(one.name for one in listed) or "none is linked"
            raise InputError(f"{printable(name)[:LONGEST]!r} is no linked repository: give one of its names ({names})")
        peers.remove(db, found[0].path)
    return Link(found[0], *_unlinked_there(found[0], store.path))


def named(name: str) -> str:
    """A name that people may give. Raises InputError."""
    if not name.strip() or len(name) > LONGEST or printable(name) != name:
        raise InputError(f"the name is {printable(name)[:LONGEST]!r}: give 1 to {LONGEST} characters that can be seen")
    return name.strip()


def default_name(file: Path) -> str:
    """Of the folder of a store's file, as it can be shown."""
    return printable(file.parent.name)[:LONGEST].strip() or "root"


def _opened(file: Path) -> Store:
    """Brought to this version's tables where it can be written. Raises StoreError, BusyError."""
    try:
        return Store.open(file)
    except StoreError as error:
        try:
            return Store.open(file, read_only=True)
        except StoreError:
            raise error from None


def _check(listed: list[Peer], peer: Peer) -> None:
    others = [one for one in listed if one.path != peer.path]
    if any(one.name == peer.name for one in others):
        raise InputError(f"{peer.name!r} is the name of another linked repository: give this one another with --name")
    if len(others) >= MOST:
        raise InputError(f"{MOST} repositories are linked, the most there may be: remove one first")


def _linked_back(store: Store, file: Path, ours: str) -> tuple[bool, str]:
    back = Peer(os.fsencode(store.path), default_name(store.path), ours, instant.now())
    try:
        with Store.open(file) as other, other.writing() as db:
            listed = peers.listed(db)
            known = next((one for one in listed if one.path == back.path), None)
            if known is None:
                _check(listed, back)
                peers.put(db, back)
    except InputError as error:
        return False, f"{error} (in {file})"
    except Error as error:
        return False, str(error)
    return True, ""


def _unlinked_there(peer: Peer, path: Path) -> tuple[bool, str]:
    try:
        with Store.open(Path(os.fsdecode(peer.path))) as other, other.writing() as db:
            peers.remove(db, os.fsencode(path))
    except (Error, OSError) as error:
        return False, str(error)
    return True, ""
