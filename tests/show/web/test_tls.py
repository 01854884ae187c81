"""What is wrong with a certificate or its key is said of its option and file, and nothing of either is shown."""

import contextlib
import os
import re
import shutil
import ssl
import subprocess

import pytest
from typer.testing import CliRunner

import diurnal as dn
from diurnal.errors import InputError
from diurnal.show.cli import app
from diurnal.show.web.tls import check_tls


def openssl(folder, *words):
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    subprocess.run(["openssl", *words], cwd=folder, capture_output=True, check=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two certificates with their keys, and keys that are encrypted in either way."""
    folder = tmp_path_factory.mktemp("tls")
    request = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    for name in ("one", "two"):
        openssl(folder, *request, "-keyout", f"{name}-key.pem", "-out", f"{name}-cert.pem")
    openssl(folder, "pkcs8", "-topk8", "-in", "one-key.pem", "-out", "new.pem", "-passout", "pass:secret")
    openssl(
        *(folder, "rsa", "-aes128", "-traditional", "-in", "one-key.pem"),
        *("-out", "old.pem", "-passout", "pass:secret"),
    )
    openssl(folder, "x509", "-in", "one-cert.pem", "-outform", "der", "-out", "cert.der")
    openssl(
        *(folder, *("req", "-x509", "-newkey", "rsa:512", "-nodes", "-days", "2", "-subj", "/CN=localhost")),
        *("-keyout", "small-key.pem", "-out", "small-cert.pem"),
    )
    for kind in ("cert", "key"):
        words = (folder / f"one-{kind}.pem").read_text().splitlines()
        (folder / f"cut-{kind}.pem").write_text("\n".join([*words[:5], "!!" + words[5], *words[6:]]))
    (folder / "empty.pem").write_text("")
    (folder / "words.pem").write_text("a secret that nobody should see\n")
    (folder / "folder.pem").mkdir()
    return folder


WRONG = {
    "no certificate there": ("no.pem", "one-key.pem", "--tls-cert: no.pem does not exist."),
    "no key there": ("one-cert.pem", "no.pem", "--tls-key: no.pem does not exist."),
    "a folder": ("folder.pem", "one-key.pem", "--tls-cert: folder.pem cannot be read (Is a directory)."),
    "an empty certificate": (
        "empty.pem",
        "one-key.pem",
        "--tls-cert: empty.pem is not a certificate in PEM format.",
    ),
    "words as a certificate": (
        "words.pem",
        "one-key.pem",
        "--tls-cert: words.pem is not a certificate in PEM format.",
    ),
    "another form": ("cert.der", "one-key.pem", "--tls-cert: cert.der is not a certificate in PEM format."),
    "words as a key": ("one-cert.pem", "words.pem", "--tls-key: words.pem is not a private key in PEM format."),
    "swapped": (
        "one-key.pem",
        "one-cert.pem",
        "--tls-cert: one-key.pem is not a certificate in PEM format. It has a private key",
    ),
    "a certificate twice": (
        "one-cert.pem",
        "one-cert.pem",
        "is not a private key in PEM format. It has a certificate",
    ),
    "an encrypted key": ("one-cert.pem", "new.pem", "--tls-key: new.pem is encrypted"),
    "a key that was encrypted long ago": ("one-cert.pem", "old.pem", "--tls-key: old.pem is encrypted"),
    "the key of another": (
        *("one-cert.pem", "two-key.pem"),
        "--tls-key: two-key.pem is not the key of the certificate one-cert.pem (--tls-cert).",
    ),
    "a damaged certificate": ("cut-cert.pem", "one-key.pem", "--tls-cert: cut-cert.pem cannot be used"),
    "a damaged key": ("one-cert.pem", "cut-key.pem", "--tls-key: cut-key.pem cannot be used"),
    "a key that is too small": ("small-cert.pem", "small-key.pem", "cannot be used (OpenSSL: ee key too small)"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_of_the_option_and_the_file(what, made):
    """Each mistake names its option, its file and what is wrong; no line of any file is shown."""
    certificate, key, said = WRONG[what]
    with pytest.raises(InputError) as caught:
        check_tls(str(made / certificate), str(made / key))
    assert said in caught.value.message
    assert caught.value.hint
    for path in made.iterdir():
        lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
        assert not any(len(line) > 8 and "-----" not in line and line in str(caught.value) for line in lines)
    assert str(made) not in str(caught.value)


def test_a_certificate_and_its_key_are_taken(made):
    """A certificate with its key is refused for nothing, and a client that trusts it connects."""
    files = str(made / "one-cert.pem"), str(made / "one-key.pem")
    check_tls(*files)
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=files[0])
    server.load_cert_chain(*files)
    client.check_hostname = False
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(back, there), server.wrap_bio(there, back, server_side=True)]
    for _ in range(3):
        for end in ends:
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
    ends[0].write(b"hello")
    assert ends[1].read() == b"hello"


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_key_that_may_not_be_read_is_said_to_be_so(made):
    """A key without permission to read it is named, with what to do."""
    (made / "closed.pem").write_bytes((made / "one-key.pem").read_bytes())
    (made / "closed.pem").chmod(0)
    with pytest.raises(InputError, match=re.escape("--tls-key: closed.pem cannot be read (Permission denied).")):
        check_tls(str(made / "one-cert.pem"), str(made / "closed.pem"))


def test_permission_is_said_whoever_runs_it(made, monkeypatch):
    """What the system says against reading a file is said of the option."""

    def refused(self, *given):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.open", refused)
    with pytest.raises(InputError, match=re.escape("--tls-cert: one-cert.pem cannot be read (Permission denied).")):
        check_tls(str(made / "one-cert.pem"), str(made / "one-key.pem"))


@pytest.mark.parametrize("what", ["no key there", "the key of another", "an encrypted key"])
def test_serve_says_it_before_it_listens(what, made, tmp_path):
    """`diurnal serve` ends with words about the option, and does not ask for a passphrase."""
    dn.Curator.open(tmp_path / "city.db").close()
    certificate, key, said = WRONG[what]
    words = ["serve", "--store", tmp_path / "city.db", "--port", 0, "--tls-cert", made / certificate]
    done = CliRunner().invoke(app, [*map(str, words), "--tls-key", str(made / key)], prog_name="diurnal")
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.stderr.split())
    assert "a file" not in done.stderr
