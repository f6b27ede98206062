"""TLS names of the web configuration file, and their OpenSSL equivalents."""

from __future__ import annotations

import ssl
from enum import StrEnum
from typing import Annotated

from streamgauge.serving.settings.value_format import ValueFormat


class ClientAuth(StrEnum):
    NONE = "NoClientCert"
    REQUEST = "RequestClientCert"
    REQUIRE_ANY = "RequireAnyClientCert"
    VERIFY_IF_GIVEN = "VerifyClientCertIfGiven"
    REQUIRE_AND_VERIFY = "RequireAndVerifyClientCert"


class TlsVersion(StrEnum):
    TLS10 = "TLS10"
    TLS11 = "TLS11"
    TLS12 = "TLS12"
    TLS13 = "TLS13"

    @property
    def for_openssl(self) -> ssl.TLSVersion:
        return _VERSIONS[self]


_VERSIONS = {
    TlsVersion.TLS10: ssl.TLSVersion.TLSv1,
    TlsVersion.TLS11: ssl.TLSVersion.TLSv1_1,
    TlsVersion.TLS12: ssl.TLSVersion.TLSv1_2,
    TlsVersion.TLS13: ssl.TLSVersion.TLSv1_3,
}


class Curve(StrEnum):
    P256 = "CurveP256"
    P384 = "CurveP384"
    P521 = "CurveP521"
    X25519 = "X25519"

    @property
    def for_openssl(self) -> str:
        return _CURVES[self]


_CURVES = {
    Curve.P256: "prime256v1",
    Curve.P384: "secp384r1",
    Curve.P521: "secp521r1",
    Curve.X25519: "X25519",
}

# Fixed: neither Go nor Python's ssl can disable one of them in TLS 1.3.
TLS13_SUITES = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)
SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
}


def _read_suite(written: object) -> str:
    if not isinstance(written, str) or (written not in SUITES and written not in TLS13_SUITES):
        raise ValueError("not a cipher suite")
    return written


CipherSuite = Annotated[
    str,
    ValueFormat(
        "known cipher suite",
        "write Go's name of a secure one, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        _read_suite,
    ),
]
