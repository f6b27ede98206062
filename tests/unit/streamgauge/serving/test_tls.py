"""TLS of the web configuration: protocols, curves, ciphers and certificates."""

from __future__ import annotations

import ssl
from pathlib import Path
from textwrap import indent

import pytest
from support.certificates import Certificate
from support.web_config_files import PAIR, tls, with_certificates, write

from streamgauge.serving.web.config import load_web_config
from streamgauge.serving.web.tls_context import alternative_names
from streamgauge.serving.web.tls_names import SUITES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_certificates(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="module")
def server(folder: Path) -> Certificate:
    return Certificate(folder / "server.pem", folder / "server.key")


def context_of(folder: Path, text: str) -> ssl.SSLContext:
    context = load_web_config(write(folder, tls(text))).ssl_context()
    assert context is not None
    return context


def names_of_ciphers(context: ssl.SSLContext) -> list[str]:
    return [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]


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
def test_clients_are_verified_as_configured(folder: Path, auth: str, mode: ssl.VerifyMode) -> None:
    text = f"{PAIR}client_auth_type: {auth}\nclient_ca_file: authority.pem\n"

    context = context_of(folder, text)

    assert context.verify_mode is mode
    assert [each["subject"] for each in context.get_ca_certs()] == [
        ((("commonName", "authority"),),)
    ]


def test_the_protocol_is_set_as_configured(folder: Path) -> None:
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
    """Both sides in memory; returns the client's side."""
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
def test_old_versions_are_used_only_when_configured(folder: Path, version: str) -> None:
    configured = context_of(folder, PAIR + f"min_version: {version}\n")
    default = context_of(folder, PAIR)
    old = client_context(folder)
    old.set_ciphers("ALL:@SECLEVEL=0")
    name = {"TLS10": "TLSv1", "TLS11": "TLSv1_1"}[version]
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        old.minimum_version = ssl.TLSVersion[name]
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        old.maximum_version = ssl.TLSVersion[name]

    assert handshake(configured, old).version() == name.replace("_", ".")
    assert handshake(configured, client_context(folder)).version() == "TLSv1.3"
    with pytest.raises(ssl.SSLError):
        handshake(default, old)


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


def test_a_client_that_offers_http2_gets_http1(folder: Path) -> None:
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
