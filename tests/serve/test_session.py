"""The token that opens once, and the cookie that it is exchanged for."""

import pytest

from bankml.serve.session import Session, cookie_name


def test_a_token_is_exchanged_once():
    session = Session()
    shown = session.exchange(session.token)
    assert shown
    assert session.holds(*shown)
    assert session.exchange(session.token) is None
    assert session.holds(*shown)


@pytest.mark.parametrize("wrong", ["", "x", "\ud800", "Ä" * 1000])
def test_nothing_else_opens(wrong):
    session = Session()
    assert session.exchange(wrong) is None
    assert not session.holds(wrong, wrong)
    assert not session.holds(session.token, session.token)
    cookie, proof = session.exchange(session.token)
    for pair in [(wrong, wrong), (cookie, wrong), (wrong, proof), (proof, cookie), (cookie[:-1], proof)]:
        assert not session.holds(*pair)
    assert not session.holds(f"{cookie} {proof}", "")


def test_secrets_are_long_new_and_fit_an_address():
    first, second = Session(), Session()
    shown = first.exchange(first.token)
    assert not second.holds(*shown)
    found = {first.token, second.token, *shown}
    assert len(found) == 4
    for secret in found:
        assert len(secret) >= 43
        assert secret.isascii()
        assert secret.replace("-", "").replace("_", "").isalnum()


def test_no_object_shows_a_secret():
    session = Session()
    token, shown = session.token, session.exchange(session.token)
    assert token not in repr(session)
    assert not any(secret in repr(vars(session)) for secret in shown)


def test_every_port_has_a_cookie_of_its_own():
    assert cookie_name(18093) == "bankml-18093"
    assert cookie_name(18094) != cookie_name(18093)
    assert cookie_name(None) == "bankml"
