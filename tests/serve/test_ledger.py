"""What requests in flight hold together."""

import asyncio
from contextlib import suppress

import pytest

from bankml.serve.errors import FullError
from bankml.serve.ledger import LONGEST_WAIT, Accounts, Held, Ledger
from bankml.serve.limits import Limits


def test_requests_are_counted_once_and_bounded():
    ledger = Ledger(Limits(max_queue_requests=2))
    first, second, third = {}, {}, {}
    for scope in (first, first, second):
        ledger.admit(scope)
    assert ledger.full
    with pytest.raises(FullError):
        ledger.admit(third)
    ledger.admit(first)  # one that is in stays in
    ledger.release(first)
    ledger.admit(third)
    ledger.release(second)
    ledger.release(third)
    assert ledger.held == Held()


def test_tokens_are_bounded_but_one_request_is_served_however_long():
    ledger = Ledger(Limits(max_queue_tokens=100))
    long, short, more = {}, {}, {}
    ledger.take_tokens(long, 1000)
    with pytest.raises(FullError):
        ledger.take_tokens(short, 1)
    ledger.release(long)
    ledger.take_tokens(short, 60)
    ledger.take_tokens(short, 60)  # once more for a model that was loaded anew
    ledger.take_tokens(more, 40)
    with pytest.raises(FullError):
        ledger.take_tokens({}, 1)
    for scope in (short, more):
        ledger.release(scope)
    assert ledger.held == Held()


def test_bytes_are_bounded():
    ledger = Ledger(Limits(max_bodies_bytes=10))
    scope = {}
    ledger.take_bytes(scope, 6)
    ledger.take_bytes(scope, 10)
    with pytest.raises(FullError):
        ledger.take_bytes({}, 1)
    ledger.release(scope)
    assert ledger.held == Held()


def test_a_refused_client_is_told_when_one_more_will_have_been_answered():
    now = 0.0
    ledger = Ledger(Limits(), clock=lambda: now)
    assert ledger.refusal().retry_after == 1
    scopes = [{} for _ in range(60)]
    for scope in scopes:
        ledger.admit(scope)
    for scope in scopes[:40]:
        now += 7
        ledger.release(scope)
    assert ledger.refusal().retry_after == 7
    for scope in scopes[40:]:
        now += 1000
        ledger.release(scope)
    assert ledger.refusal().retry_after == LONGEST_WAIT
    now += 10**6  # nothing was in flight: idle time tells nothing
    ledger.admit({})
    assert ledger.refusal().retry_after == LONGEST_WAIT


@pytest.mark.parametrize("error", [None, RuntimeError, asyncio.CancelledError])
def test_what_a_request_held_is_released_however_it_ends(error):
    ledger = Ledger()

    async def application(scope, receive, send) -> None:
        ledger.admit(scope)
        ledger.take_bytes(scope, 5)
        ledger.take_tokens(scope, 7)
        if error:
            raise error

    with suppress(RuntimeError, asyncio.CancelledError):
        asyncio.run(Accounts(application, ledger)({"type": "http"}, None, None))
    assert ledger.held == Held()
