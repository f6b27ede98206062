"""The web configuration file: its values, and what a reload may change."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.web_config_files import HASH, PAIR, VERIFY, tls, with_certificates, write

from streamgauge.serving.settings.errors import SettingsError
from streamgauge.serving.settings.reference import render_reference
from streamgauge.serving.web.config import WebConfig, load_web_config
from streamgauge.serving.web.live_config import LiveWebConfig
from streamgauge.serving.web.settings import WebSettings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_certificates(tmp_path_factory.mktemp("web"))


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


def test_the_reference_has_every_key_of_the_format() -> None:
    reference = render_reference(WebSettings)

    assert "| `tls_server_config.min_version` | `TLS10` or `TLS11` or" in reference
    assert "| `http_server_config.headers.X-Frame-Options` | `deny` or `sameorigin` |" in reference
    assert "| `basic_auth_users` | mapping of bcrypt hash | (not shown) |" in reference


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
        str(caught.value) == f"{path}: tls_server_config: switching TLS on or off needs a restart"
    )
    assert live.current is before
