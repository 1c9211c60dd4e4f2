"""https."""

import shutil
import socket
import ssl
import subprocess

import httpx
import pytest
import trustme

from bankml.errors import InputError
from bankml.serve.tls import context
from tests.serve.wire import BODY, GET, is_over, refused, vector, watched


@pytest.fixture(scope="module")
def secure(tiny, pair):
    options = ("--tls-cert", pair.certificate, "--tls-key", pair.key)
    with watched(tiny, *options, patch="from bankml.serve import http; http.HEAD = 0.5") as server:
        yield server


@pytest.fixture(scope="module")
def trust(pair):
    return ssl.create_default_context(cafile=pair.authority)


def test_a_client_that_trusts_its_authority(secure, trust):
    assert secure.url.startswith("https://127.0.0.1:")
    assert len(vector(secure, verify=trust)) > 1
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(secure.url)


def test_a_foreign_host_is_forbidden_there_too(secure, trust):
    assert httpx.get(secure.url, headers={"Host": "evil.example"}, verify=trust).status_code == 403


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_old_versions_are_refused(secure, trust):
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")  # so that it is the server that refuses
    old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    with secure.connect() as client, pytest.raises((ssl.SSLError, ConnectionError)):
        old.wrap_socket(client)


@pytest.mark.parametrize(
    "noise", [GET, b"\0" * 1000, b"\x16\x03\x01", b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"]
)
def test_who_does_not_speak_tls_is_let_go(secure, trust, noise):
    with secure.connect() as client:
        client.sendall(noise)
        assert is_over(client)
    assert len(vector(secure, verify=trust)) > 1
    assert secure.logged().count("\n") == 1  # which model was chosen


def test_a_client_that_breaks_off(secure, trust):
    with (
        socket.create_connection(secure.address) as plain,
        trust.wrap_socket(plain, server_hostname="127.0.0.1") as client,
    ):
        client.sendall(GET[:-5])
    assert len(vector(secure, verify=trust)) > 1
    assert secure.logged().count("\n") == 1


def test_files_that_do_not_fit_are_named(pair, tmp_path):
    other, noise, locked = tmp_path / "other.key", tmp_path / "noise.pem", tmp_path / "locked.key"
    trustme.CA().issue_cert("localhost").private_key_pem.write_to_path(other)
    noise.write_bytes(b"no PEM\n")
    for certificate, key, blamed, words in (
        (pair.certificate, other, other, "does not belong to the certificate"),
        (noise, pair.key, noise, "holds no certificate"),
        (pair.key, pair.key, pair.key, "holds no certificate"),
        (pair.certificate, noise, noise, "holds no private key"),
        (pair.certificate, pair.certificate, pair.certificate, "holds no private key"),
    ):
        with pytest.raises(InputError, match=words) as error:
            context(certificate, key)
        assert str(blamed) in str(error.value)
    if shutil.which("openssl"):
        done = ["openssl", "pkey", "-aes256", "-passout", "pass:x", "-in", pair.key, "-out", locked]
        subprocess.run(done, check=True, capture_output=True)
        with pytest.raises(InputError, match="is encrypted; give a key file without a password"):
            context(pair.certificate, locked)


def test_the_server_does_not_start_with_them(pair, tmp_path):
    status, sentence = refused("--tls-cert", pair.certificate, "--tls-key", tmp_path / "nothing")
    assert (status, str(tmp_path / "nothing") in sentence) == (1, True)
    for option, file in (("--tls-cert", pair.certificate), ("--tls-key", pair.key)):
        status, sentence = refused(option, file)
        assert (status, "--tls-cert" in sentence, "--tls-key" in sentence) == (2, True, True)


def test_with_a_unix_socket(tiny, pair, trust, tmp_path):
    path = tmp_path / "s"
    options = ("--uds", path, "--tls-cert", pair.certificate, "--tls-key", pair.key)
    transport = httpx.HTTPTransport(uds=str(path), verify=trust)
    with watched(tiny, *options), httpx.Client(transport=transport) as client:
        assert client.post("https://localhost/api/embed", content=BODY).status_code == 200
