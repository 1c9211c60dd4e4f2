"""Encryption by a certificate and its key."""

import ssl
from pathlib import Path

from bankml.errors import InputError


def context(certificate: Path, key: Path) -> ssl.SSLContext:
    """A server's context, TLS 1.2 and newer. Raises InputError naming the file that is to blame, OSError likewise."""
    for file in (certificate, key):
        file.open("rb").close()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password=lambda: _no_password(key))
    except ssl.SSLError as error:
        raise InputError(_fault(certificate, key, error)) from None
    return context


def _no_password(key: Path) -> str:
    """OpenSSL would ask the terminal."""
    raise InputError(f"{key} is encrypted; give a key file without a password")


def _fault(certificate: Path, key: Path, error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"the key in {key} does not belong to the certificate in {certificate}; give the pair"
    if not _is_certificate(certificate):
        return f"{certificate} holds no certificate in PEM format; give the file with the chain, the server's first"
    return f"{key} holds no private key in PEM format that can be used ({error.reason}); give the certificate's key"


def _is_certificate(file: Path) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(file)
    except ssl.SSLError:
        return False
    return True
