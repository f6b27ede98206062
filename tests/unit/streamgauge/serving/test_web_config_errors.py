"""Errors in a web configuration file: one exact line that names what and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.web_config_files import HASH, PAIR, VERIFY, tls, with_certificates, write

from streamgauge.serving.settings.errors import SettingsError
from streamgauge.serving.web.config import load_web_config


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_certificates(tmp_path_factory.mktemp("web"))


UNVERIFIED = (
    "would accept certificates without verification, which is not supported"
    " (use RequireAndVerifyClientCert)"
)
ERRORS = {
    "unknown section": (
        "tls_config: {}",
        "tls_config: unknown key (did you mean tls_server_config?)",
    ),
    "unknown key": (
        tls(PAIR + "cert_fil: x"),
        "tls_server_config.cert_fil: unknown key (did you mean cert_file?)",
    ),
    "rate limit": (
        "rate_limit: {interval: 1s, burst: 5}",
        "rate_limit: is not supported here (limit in a proxy in front)",
    ),
    "section without value": (
        "tls_server_config:\nbasic_auth_users: {}",
        "tls_server_config: is empty (omit it for plain HTTP)",
    ),
    "empty TLS": (
        "tls_server_config: {}",
        "tls_server_config.cert_file: is missing (TLS needs cert_file or cert)",
    ),
    "no key": (
        tls("cert_file: server.pem"),
        "tls_server_config.key_file: is missing (TLS needs key_file or key)",
    ),
    "certificate twice": (
        tls(PAIR + "cert: x"),
        "tls_server_config.cert_file: is given beside cert (give only one of the two)",
    ),
    "key twice": (
        tls(PAIR + "key: x"),
        "tls_server_config.key_file: is given beside key (give only one of the two)",
    ),
    "missing certificate file": (
        tls("cert_file: none.pem\nkey_file: server.key"),
        "tls_server_config.cert_file: {folder}/none.pem cannot be read: No such file or directory",
    ),
    "missing key file": (
        tls("cert_file: server.pem\nkey_file: none.key"),
        "tls_server_config.key_file: {folder}/none.key cannot be read: No such file or directory",
    ),
    "file without certificate": (
        tls("cert_file: garbage.pem\nkey_file: server.key"),
        "tls_server_config.cert_file: holds no PEM block of a certificate",
    ),
    "certificate as key": (
        tls("cert_file: server.pem\nkey_file: server.pem"),
        "tls_server_config.key_file: holds no PEM block of a private key",
    ),
    "key of another certificate": (
        tls("cert_file: server.pem\nkey_file: stranger.key"),
        "tls_server_config.key_file: does not belong to the certificate",
    ),
    "key with a passphrase": (
        tls("cert_file: server.pem\nkey_file: server.encrypted"),
        "tls_server_config.key_file: is encrypted (store it without a passphrase)",
    ),
    "inline key that is none": (
        tls("cert_file: server.pem\nkey: hunter2"),
        "tls_server_config.key: holds no PEM block of a private key",
    ),
    "inline key of the wrong kind": (
        tls("cert_file: server.pem\nkey: 12345"),
        "tls_server_config.key: the value (not shown) is not text (put it in quotes)",
    ),
    "unknown client policy": (
        tls(PAIR + "client_auth_type: Maybe"),
        'tls_server_config.client_auth_type: "Maybe" is not one of NoClientCert,'
        " RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven,"
        " RequireAndVerifyClientCert",
    ),
    "clients requested and not verified": (
        tls(PAIR + "client_auth_type: RequestClientCert"),
        f"tls_server_config.client_auth_type: RequestClientCert {UNVERIFIED}",
    ),
    "clients forced and not verified": (
        tls(PAIR + "client_auth_type: RequireAnyClientCert\nclient_ca_file: authority.pem"),
        f"tls_server_config.client_auth_type: RequireAnyClientCert {UNVERIFIED}",
    ),
    "policy without authority": (
        tls(PAIR + "client_auth_type: RequireAndVerifyClientCert"),
        "tls_server_config.client_ca_file: is missing"
        " (RequireAndVerifyClientCert needs client_ca_file or client_ca)",
    ),
    "authority without policy": (
        tls(PAIR + "client_ca_file: authority.pem"),
        "tls_server_config.client_auth_type: must not be NoClientCert beside a client_ca"
        " (use RequireAndVerifyClientCert)",
    ),
    "authority twice": (
        tls(PAIR + VERIFY + "client_ca: x"),
        "tls_server_config.client_ca_file: is given beside client_ca (give only one of the two)",
    ),
    "missing authority file": (
        tls(PAIR + VERIFY.replace("authority.pem", "none.pem")),
        "tls_server_config.client_ca_file: {folder}/none.pem cannot be read:"
        " No such file or directory",
    ),
    "file without authority": (
        tls(PAIR + VERIFY.replace("authority.pem", "garbage.pem")),
        "tls_server_config.client_ca_file: holds no PEM block of a certificate",
    ),
    "names without verification": (
        tls(PAIR + "client_allowed_sans: [a]"),
        "tls_server_config.client_allowed_sans: works only with client_auth_type"
        " RequireAndVerifyClientCert",
    ),
    "no name allowed": (
        tls(PAIR + VERIFY + "client_allowed_sans: []"),
        "tls_server_config.client_allowed_sans: is empty, so no client could connect"
        " (omit the key)",
    ),
    "unknown version": (
        tls(PAIR + "min_version: SSL3"),
        'tls_server_config.min_version: "SSL3" is not one of TLS10, TLS11, TLS12, TLS13',
    ),
    "versions upside down": (
        tls(PAIR + "min_version: TLS13\nmax_version: TLS12"),
        "tls_server_config.min_version: TLS13 is newer than max_version TLS12",
    ),
    "unknown cipher suite": (
        tls(PAIR + "cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]"),
        'tls_server_config.cipher_suites[0]: "TLS_RSA_WITH_RC4_128_SHA" is not a known cipher'
        " suite (write Go's name of a secure one, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256)",
    ),
    "no cipher suite for TLS 1.2": (
        tls(PAIR + "cipher_suites: [TLS_AES_128_GCM_SHA256]"),
        "tls_server_config.cipher_suites: leaves none for TLS 1.2"
        " (add one, or set min_version: TLS13)",
    ),
    "unknown curve": (
        tls(PAIR + "curve_preferences: [P256]"),
        'tls_server_config.curve_preferences[0]: "P256" is not one of'
        " CurveP256, CurveP384, CurveP521, X25519",
    ),
    "several curves": (
        tls(PAIR + "curve_preferences: [X25519, CurveP256]"),
        "tls_server_config.curve_preferences: holds several curves, and only one can be set here",
    ),
    "unknown header": (
        "http_server_config: {headers: {X-Powered-By: us}}",
        "http_server_config.headers: line 1: unknown key (known: Content-Security-Policy,"
        " Strict-Transport-Security, X-Content-Type-Options, X-Frame-Options, X-XSS-Protection)",
    ),
    "wrong value of a header": (
        "http_server_config: {headers: {X-Frame-Options: allow}}",
        'http_server_config.headers.X-Frame-Options: "allow" is not one of deny, sameorigin',
    ),
    "header of two lines": (
        'http_server_config: {headers: {Content-Security-Policy: "a\\r\\nSet-Cookie: b"}}',
        'http_server_config.headers.Content-Security-Policy: "a\\r\\nSet-Cookie: b" is not a'
        " header value (write it on one line)",
    ),
    "plain password": (
        "basic_auth_users: {alice: hunter2}",
        "basic_auth_users.alice: the value (not shown) is not a bcrypt hash"
        " (make one with: htpasswd -nB NAME)",
    ),
    "user with a colon": (
        f'basic_auth_users: {{"a:b": {HASH}}}',
        'basic_auth_users: the user "a:b" cannot log in: a name must not hold a colon',
    ),
    "user twice": (
        f"basic_auth_users:\n  alice: {HASH}\n  alice: {HASH}\n",
        "basic_auth_users.alice: is given twice (line 2 and line 3)",
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_error_is_one_exact_line(folder: Path, text: str, message: str) -> None:
    path = write(folder, text)

    with pytest.raises(SettingsError) as caught:
        load_web_config(path)

    error = str(caught.value)
    assert error == f"{path}: " + message.replace("{folder}", str(folder))


def test_a_broken_certificate_is_an_error_of_the_section(folder: Path) -> None:
    path = write(folder, tls("cert_file: broken.pem\nkey_file: server.key"))

    with pytest.raises(SettingsError) as caught:
        load_web_config(path)

    # The last words are OpenSSL's and differ between its versions.
    assert str(caught.value).startswith(f"{path}: tls_server_config: certificate or key: ")


def test_an_authority_that_is_broken_is_an_error_of_its_key(folder: Path) -> None:
    path = write(folder, tls(PAIR + VERIFY.replace("authority.pem", "broken.pem")))

    with pytest.raises(SettingsError) as caught:
        load_web_config(path)

    expected = f"{path}: tls_server_config.client_ca_file: is not a certificate: "
    assert str(caught.value).startswith(expected)
