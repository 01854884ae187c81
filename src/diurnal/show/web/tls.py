"""TLS: whether a certificate and its key can be served with, said before anything listens.

Whatever is wrong is said of the option and the file that it is about, by name. Nothing of a file is shown.
"""

from __future__ import annotations

import re
import ssl
from pathlib import Path

from diurnal.errors import InputError

CERTIFICATE, KEY = "--tls-cert", "--tls-key"

LONGEST = 1 << 20
"""How many bytes of a file are looked at: chains of certificates are shorter."""

ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED", re.MULTILINE)
PRIVATE = re.compile(rb"-----BEGIN ([A-Z]+ )*PRIVATE KEY-----")
PUBLIC = re.compile(rb"-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----")


def check_tls(certificate: str, key: str) -> None:
    """Refuse a certificate and a key that no connection could be made with.

    Args:
        certificate: The file of `--tls-cert`.
        key: The file of `--tls-key`.

    Raises:
        InputError: One of them is missing or cannot be read, is not PEM or not what it should be, is encrypted or
            damaged; or they do not belong together.
    """
    public, private = _read(CERTIFICATE, certificate), _read(KEY, key)
    if not PUBLIC.search(public):
        code = "tls-certificate-is-key" if PRIVATE.search(public) else "tls-certificate-invalid"
        raise _error(code, CERTIFICATE, certificate)
    if ENCRYPTED.search(private):
        raise _error("tls-key-encrypted", KEY, key)
    if not PRIVATE.search(private):
        raise _error("tls-key-is-certificate" if PUBLIC.search(private) else "tls-key-invalid", KEY, key)
    _load(certificate, key)


def _read(option: str, path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(LONGEST)
    except FileNotFoundError:
        raise _error("tls-file-missing", option, path) from None
    except OSError as cause:
        code = "tls-file-forbidden" if isinstance(cause, PermissionError) else "tls-file-unreadable"
        raise _error(code, option, path, reason=cause.strerror or type(cause).__name__) from None


def _load(certificate: str, key: str) -> None:
    """Load both as the server will. OpenSSL does not say which of them it complains of: each is tried by itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Never asked for: without it OpenSSL would ask at the terminal.
        context.load_cert_chain(certificate, key, password=lambda: "")
        return
    except ssl.SSLError as cause:
        reason = cause.reason or ""
    except (OSError, ValueError):
        reason = ""
    if "MISMATCH" in reason:
        raise _error("tls-mismatch", KEY, key, certificate=Path(certificate).name, other=CERTIFICATE)
    # In words that are OpenSSL's own, and nothing of the file.
    said = reason.lower().replace("_", " ") if re.fullmatch("[A-Z0-9_]{1,60}", reason) else "no reason given"
    is_public = reason.startswith(("EE_", "CA_")) or not _is_certificate(certificate)
    option, path = (CERTIFICATE, certificate) if is_public else (KEY, key)
    raise _error("tls-unusable", option, path, reason=said)


def _is_certificate(path: str) -> bool:
    """Whether the certificates of a file can be read, whatever their key."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except (OSError, ValueError):
        return False
    return True


def _error(code: str, option: str, path: str, **params: str) -> InputError:
    return InputError(code, option=option, name=Path(path).name, **params)
