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

MAKE = "A PEM file begins with a line -----BEGIN"


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
        swapped = " It has a private key: are the two options swapped?" if PRIVATE.search(public) else ""
        raise _error(CERTIFICATE, certificate, f"is no certificate in PEM.{swapped}", f"{MAKE} CERTIFICATE-----.")
    if ENCRYPTED.search(private):
        raise _error(
            KEY,
            key,
            "is encrypted, and nobody is there to type its passphrase.",
            "Write it without one, readable by the service's user alone: openssl pkey -in KEY -out PLAIN.",
        )
    if not PRIVATE.search(private):
        swapped = " It has a certificate: are the two options swapped?" if PUBLIC.search(private) else ""
        raise _error(KEY, key, f"is no private key in PEM.{swapped}", f"{MAKE} PRIVATE KEY-----.")
    _load(certificate, key)


def _read(option: str, path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(LONGEST)
    except FileNotFoundError:
        raise _error(option, path, "is not there.", "Check the path.") from None
    except OSError as cause:
        why = cause.strerror or type(cause).__name__
        remedy = "Let the service's user read it, and nobody else." if isinstance(cause, PermissionError) else ""
        raise _error(option, path, f"cannot be read ({why}).", remedy or "Give a file in PEM.") from None


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
        raise _error(
            KEY,
            key,
            f"is not the key of the certificate {Path(certificate).name} ({CERTIFICATE}).",
            "Give the key that the certificate was made with; in a chain its own certificate comes first.",
        )
    # In words that are OpenSSL's own, and nothing of the file.
    said = f" (OpenSSL: {reason.lower().replace('_', ' ')})" if re.fullmatch("[A-Z0-9_]{1,60}", reason) else ""
    is_public = reason.startswith(("EE_", "CA_")) or not _is_certificate(certificate)
    option, path = (CERTIFICATE, certificate) if is_public else (KEY, key)
    raise _error(option, path, f"cannot be used{said}.", "Copy it again, whole; or make it anew.")


def _is_certificate(path: str) -> bool:
    """Whether the certificates of a file can be read, whatever their key."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except (OSError, ValueError):
        return False
    return True


def _error(option: str, path: str, what: str, hint: str) -> InputError:
    return InputError(f"{option}: {Path(path).name} {what}", hint=hint)
