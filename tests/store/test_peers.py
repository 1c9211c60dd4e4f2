"""Linked stores are remembered by their paths."""

from dataclasses import replace

from bankml.store import Store, peers
from bankml.store.peers import Peer

ONE = Peer(b"/home/\xff/kb.db", "b", "0" * 32, 5)


def test_peers_come_and_go(tmp_path):
    with Store.create(tmp_path / "kb.db") as store, store.writing() as db:
        assert peers.listed(db) == []
        peers.put(db, ONE)
        peers.put(db, other := Peer(b"/kb.db", "a", "1" * 32, 6))
        peers.put(db, again := replace(ONE, store_id="2" * 32))
        assert peers.listed(db) == [other, again]
        assert peers.remove(db, ONE.path)
        assert not peers.remove(db, ONE.path)
        assert peers.listed(db) == [other]
