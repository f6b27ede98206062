"""The web configuration file: what is taken, what is refused and why, and who is let in."""

from __future__ import annotations

import asyncio
import base64
import ssl
from pathlib import Path
from textwrap import indent

import bcrypt
import pytest
from support.certificates import Authority, Certificate, encrypted_key

from streamgauge.serving.basic_auth import PasswordCheck, credentials
from streamgauge.serving.live_web_config import LiveWebConfig
from streamgauge.serving.secret import Secret
from streamgauge.serving.settings_error import SettingsError
from streamgauge.serving.settings_reference import render_reference
from streamgauge.serving.tls_context import alternative_names
from streamgauge.serving.tls_names import SUITES
from streamgauge.serving.web_config import WebConfig, load_web_config
from streamgauge.serving.web_settings import WebSettings

HASH = bcrypt.hashpw(b"hunter2", bcrypt.gensalt(4)).decode()
OTHER_HASH = bcrypt.hashpw(b"swordfish", bcrypt.gensalt(4)).decode()
PAIR = "cert_file: server.pem\nkey_file: server.key\n"
VERIFY = "client_auth_type: RequireAndVerifyClientCert\nclient_ca_file: authority.pem\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates beside which the configuration files are written."""
    folder = tmp_path_factory.mktemp("web")
    authority = Authority.create(folder)
    server = authority.issue("server")
    authority.issue("stranger")
    encrypted_key(server)
    (folder / "garbage.pem").write_text("hello")
    broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    (folder / "broken.pem").write_text(broken)
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Certificate:
    return Certificate(folder / "server.pem", folder / "server.key")


def write(folder: Path, text: str) -> Path:
    path = folder / "web.yml"
    path.write_text(text)
    return path


def tls(text: str) -> str:
    return "tls_server_config:\n" + indent(text, "  ")


def context_of(folder: Path, text: str) -> ssl.SSLContext:
    context = load_web_config(write(folder, tls(text))).ssl_context()
    assert context is not None
    return context


def names_of_ciphers(context: ssl.SSLContext) -> list[str]:
    return [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]


def test_an_empty_file_serves_plain_http_to_all(folder: Path) -> None:
    config = load_web_config(write(folder, ""))

    assert config.ssl_context() is None
    assert dict(config.users) == {}
    assert config.headers == {}


def test_files_are_found_beside_the_configuration(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    config = load_web_config(write(folder, tls(PAIR + VERIFY)))

    assert config.files() == (
        folder / "web.yml",
        folder / "server.pem",
        folder / "server.key",
        folder / "authority.pem",
    )


def test_tls_has_safe_defaults(folder: Path) -> None:
    context = context_of(folder, PAIR)

    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.maximum_version is ssl.TLSVersion.TLSv1_3
    assert context.verify_mode is ssl.CERT_NONE
    assert context.options & ssl.OP_CIPHER_SERVER_PREFERENCE


@pytest.mark.parametrize(
    ("auth", "mode"),
    [
        ("VerifyClientCertIfGiven", ssl.CERT_OPTIONAL),
        ("RequireAndVerifyClientCert", ssl.CERT_REQUIRED),
    ],
)
def test_clients_are_verified_as_asked(folder: Path, auth: str, mode: ssl.VerifyMode) -> None:
    text = f"{PAIR}client_auth_type: {auth}\nclient_ca_file: authority.pem\n"

    context = context_of(folder, text)

    assert context.verify_mode is mode
    assert [each["subject"] for each in context.get_ca_certs()] == [
        ((("commonName", "authority"),),)
    ]


def test_the_protocol_is_set_as_asked(folder: Path) -> None:
    context = context_of(
        folder,
        PAIR
        + "min_version: TLS12\nmax_version: TLS12\nprefer_server_cipher_suites: false\n"
        + "cipher_suites:\n- TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384\n"
        + "- TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256\n- TLS_AES_128_GCM_SHA256\n",
    )

    assert context.maximum_version is ssl.TLSVersion.TLSv1_2
    assert not context.options & ssl.OP_CIPHER_SERVER_PREFERENCE
    assert names_of_ciphers(context) == [
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDHE-RSA-CHACHA20-POLY1305",
    ]


def test_every_known_cipher_suite_is_known_to_openssl_too(folder: Path) -> None:
    listed = "".join(f"- {name}\n" for name in SUITES)
    context = context_of(folder, PAIR + "cipher_suites:\n" + listed)

    assert names_of_ciphers(context) == list(SUITES.values())


def client_context(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=folder / "authority.pem")
    context.check_hostname = False
    return context


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> ssl.SSLObject:
    """Both sides in memory; the client's side is given back."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    waiting = ends[:]
    while waiting:
        end = waiting.pop(0)
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(end)
    return ends[0]


CURVES = {
    "CurveP256": "prime256v1",
    "CurveP384": "secp384r1",
    "CurveP521": "secp521r1",
    "X25519": "X25519",
}


@pytest.mark.parametrize(("curve", "name"), CURVES.items())
def test_only_the_chosen_curve_is_spoken(folder: Path, curve: str, name: str) -> None:
    server = context_of(folder, PAIR + f"curve_preferences: [{curve}]\n")
    same, other = client_context(folder), client_context(folder)
    same.set_ecdh_curve(name)
    other.set_ecdh_curve("secp384r1" if name != "secp384r1" else "X25519")

    assert handshake(server, same).version() == "TLSv1.3"
    with pytest.raises(ssl.SSLError):
        handshake(server, other)


@pytest.mark.parametrize("version", ["TLS10", "TLS11"])
def test_old_versions_are_spoken_only_when_asked_for(folder: Path, version: str) -> None:
    asked = context_of(folder, PAIR + f"min_version: {version}\n")
    not_asked = context_of(folder, PAIR)
    old = client_context(folder)
    old.set_ciphers("ALL:@SECLEVEL=0")
    name = {"TLS10": "TLSv1", "TLS11": "TLSv1_1"}[version]
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        old.minimum_version = ssl.TLSVersion[name]
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        old.maximum_version = ssl.TLSVersion[name]

    assert handshake(asked, old).version() == name.replace("_", ".")
    assert handshake(asked, client_context(folder)).version() == "TLSv1.3"
    with pytest.raises(ssl.SSLError):
        handshake(not_asked, old)


def test_only_the_chosen_cipher_suite_is_spoken(folder: Path) -> None:
    chosen = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
    server = context_of(folder, PAIR + f"max_version: TLS12\ncipher_suites: [{chosen}]\n")
    other = client_context(folder)
    other.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")

    spoken = handshake(server, client_context(folder)).cipher()

    assert spoken is not None
    assert spoken[0] == "ECDHE-ECDSA-CHACHA20-POLY1305"
    with pytest.raises(ssl.SSLError):
        handshake(server, other)


def test_a_client_that_offers_http2_is_told_to_speak_http1(folder: Path) -> None:
    client = client_context(folder)
    client.set_alpn_protocols(["h2", "http/1.1"])

    agreed = handshake(context_of(folder, PAIR), client).selected_alpn_protocol()

    assert agreed == "http/1.1"


def test_certificates_may_be_written_in_the_file(folder: Path, server: Certificate) -> None:
    inline = {
        "cert": server.cert.read_text(),
        "key": server.key.read_text(),
        "client_ca": "# Zertifikat für Prüfer\n" + (folder / "authority.pem").read_text(),
    }
    text = "".join(f"{key}: |\n{indent(pem, '  ')}" for key, pem in inline.items())

    context = context_of(folder, text + "client_auth_type: RequireAndVerifyClientCert\n")

    assert len(context.get_ca_certs()) == 1


def test_headers_are_taken_and_empty_ones_left_out(folder: Path) -> None:
    headers = (
        "http_server_config:\n  http2: true\n  headers:\n"
        "    Content-Security-Policy: >\n      default-src 'self';\n      img-src *\n"
        "    Strict-Transport-Security: ''\n"
        "    X-Frame-Options: deny\n"
        "    X-Content-Type-Options: nosniff\n"
        "    X-XSS-Protection: 1; mode=block\n"
    )

    config = load_web_config(write(folder, headers))

    assert config.headers == {
        "Content-Security-Policy": "default-src 'self'; img-src *",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "deny",
        "X-XSS-Protection": "1; mode=block",
    }


def test_users_are_taken_and_their_hashes_not_shown(folder: Path) -> None:
    as_htpasswd_writes_it = "$2y$" + HASH[4:]

    config = load_web_config(write(folder, f"basic_auth_users: {{alice: {as_htpasswd_writes_it}}}"))

    assert config.users["alice"].reveal() == as_htpasswd_writes_it
    assert HASH[10:] not in repr(config)


UNVERIFIED = (
    "would accept certificates that nobody has verified, which is not supported"
    " (use RequireAndVerifyClientCert)"
)
MISTAKES = {
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
        "tls_server_config: is empty (leave it out for plain HTTP)",
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
    "clients asked and not verified": (
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
        " (leave the key out)",
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
        "http_server_config.headers.X-Powered-By: unknown key (known: Content-Security-Policy,"
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


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_in_one_exact_line(folder: Path, text: str, message: str) -> None:
    path = write(folder, text)

    with pytest.raises(SettingsError) as caught:
        load_web_config(path)

    told = str(caught.value)
    assert told == f"{path}: " + message.replace("{folder}", str(folder))


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


def test_alternative_names_of_every_kind_are_compared() -> None:
    certificate = {
        "subjectAltName": (
            ("DNS", "prometheus.example"),
            ("IP Address", "127.0.0.1"),
            ("IP Address", "2001:DB8:0:0:0:0:0:1"),
            ("email", "ops@example.org"),
            ("URI", "spiffe://example/prometheus"),
        )
    }

    assert alternative_names(certificate) == {
        "prometheus.example",
        "127.0.0.1",
        "2001:db8::1",
        "ops@example.org",
        "spiffe://example/prometheus",
    }
    assert alternative_names({}) == frozenset()


def test_the_reference_has_every_key_of_the_format() -> None:
    reference = render_reference(WebSettings)

    assert "| `tls_server_config.min_version` | `TLS10` or `TLS11` or" in reference
    assert "| `http_server_config.headers.X-Frame-Options` | `deny` or `sameorigin` |" in reference
    assert "| `basic_auth_users` | mapping of bcrypt hash | (not shown) |" in reference


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (basic("alice:hunter2"), ("alice", "hunter2")),
        (basic("alice:a:b"), ("alice", "a:b")),
        (basic("grün:schlüssel"), ("grün", "schlüssel")),
        (basic(":"), ("", "")),
        (basic("alice:x").replace("Basic", "bAsIc"), ("alice", "x")),
        (basic("no colon"), None),
        ("Basic", None),
        ("Basic !!!", None),
        ("Basic /w==", None),
        ("Bearer abc", None),
        ("", None),
        (None, None),
    ],
)
def test_credentials_are_read_from_the_header(
    header: str | None, expected: tuple[str, str] | None
) -> None:
    assert credentials(header) == expected


USERS = {"alice": Secret(HASH), "bob": Secret(OTHER_HASH)}


async def test_a_right_password_is_checked_by_bcrypt_only_once() -> None:
    check = PasswordCheck()

    answers = [await check.allows(USERS, "alice", "hunter2") for _ in range(3)]

    assert answers == [True, True, True]
    assert check.bcrypt_runs == 1


@pytest.mark.parametrize(
    ("user", "password"),
    [("alice", "wrong"), ("alice", "swordfish"), ("mallory", "hunter2"), ("alice", ""), ("", "")],
)
async def test_a_wrong_login_is_refused_at_the_price_of_bcrypt(user: str, password: str) -> None:
    check = PasswordCheck()
    await check.allows(USERS, "alice", "hunter2")

    answers = [await check.allows(USERS, user, password) for _ in range(2)]

    assert answers == [False, False]
    assert check.bcrypt_runs == 3


async def test_an_unknown_user_costs_what_the_dearest_known_one_costs() -> None:
    check = PasswordCheck()
    dear = Secret(bcrypt.hashpw(b"x", bcrypt.gensalt(5)).decode())

    await check.allows({"alice": Secret(HASH), "dear": dear}, "mallory", "x")

    assert check._unknown_user_hash.startswith(b"$2b$05$")


async def test_requests_at_the_same_moment_share_one_bcrypt_run() -> None:
    check = PasswordCheck()
    await check.allows(USERS, "bob", "wrong")

    logins = [check.allows(USERS, "alice", "hunter2") for _ in range(20)]
    answers = await asyncio.gather(*logins)

    assert answers == [True] * 20
    # One that was wrong, and as many of the twenty as may run at once.
    assert check.bcrypt_runs <= 3


async def test_the_event_loop_turns_while_bcrypt_runs() -> None:
    users = {"alice": Secret(bcrypt.hashpw(b"x", bcrypt.gensalt(8)).decode())}
    login = asyncio.create_task(PasswordCheck().allows(users, "alice", "x"))

    turns = 0
    while not login.done():
        await asyncio.sleep(0)
        turns += 1

    assert login.result() is True
    assert turns > 20  # two or three if the loop itself had run it


async def test_a_changed_file_forgets_who_was_let_in() -> None:
    check = PasswordCheck()
    assert await check.allows(USERS, "alice", "hunter2")

    changed = {"alice": Secret(OTHER_HASH)}

    assert not await check.allows(changed, "alice", "hunter2")
    assert await check.allows(changed, "alice", "swordfish")
    assert not await check.allows(changed, "bob", "swordfish")


async def test_a_password_that_bcrypt_would_cut_is_refused() -> None:
    long = "x" * 72
    users = {"alice": Secret(bcrypt.hashpw(long.encode(), bcrypt.gensalt(4)).decode())}
    check = PasswordCheck()

    assert await check.allows(users, "alice", long)
    assert not await check.allows(users, "alice", long + "y")
    assert check.bcrypt_runs == 2


def test_without_a_file_everybody_is_served_in_plain_http() -> None:
    live = LiveWebConfig(None)

    assert live.current == WebConfig()
    assert live.ssl_context() is None
    assert live.reload_if_changed() is False


def test_a_reload_cannot_switch_tls_off(folder: Path) -> None:
    path = write(folder, tls(PAIR))
    live = LiveWebConfig(path)
    before = live.current
    write(folder, f"basic_auth_users: {{alice: {HASH}}}")

    with pytest.raises(SettingsError) as caught:
        live.reload()

    assert (
        str(caught.value) == f"{path}: tls_server_config: switching TLS on or off takes a restart"
    )
    assert live.current is before
