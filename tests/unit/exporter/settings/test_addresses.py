"""NATS and monitoring addresses with and without a scheme."""

from __future__ import annotations

import pytest

from exporter.settings.addresses import server_urls
from exporter.settings.config import SystemSettings
from exporter.settings.events import EventAccountSettings
from streamgauge.serving.settings.loader import InvalidSettingError


@pytest.mark.parametrize(
    ("source", "text", "url"),
    [
        ("account", "localhost:4222", "nats://localhost:4222"),
        ("system", "nats-1.example.net:4333", "nats://nats-1.example.net:4333"),
        ("account", "localhost", "nats://localhost:4222"),
        ("account", "nats", "nats://nats:4222"),
        ("account", "10.0.0.1", "nats://10.0.0.1:4222"),
        ("account", "[::1]:4222", "nats://[::1]:4222"),
        ("account", "[::1]", "nats://[::1]:4222"),
        ("account", "me:secret@localhost:4222", "nats://me:secret@localhost:4222"),
        ("account", "me:s@cret@localhost", "nats://me:s@cret@localhost:4222"),
        ("monitor", "localhost:8222", "http://localhost:8222"),
        ("monitor", "localhost", "http://localhost:8222"),
        ("account", "tls://localhost:4222", "tls://localhost:4222"),
        ("account", "nats://localhost", "nats://localhost"),
        ("account", "nats://me:secret@a:4222", "nats://me:secret@a:4222"),
        ("monitor", "https://localhost:8222/nats", "https://localhost:8222/nats"),
    ],
)
def test_an_address_without_a_scheme_gets_the_default(source: str, text: str, url: str) -> None:
    assert server_urls((text,), source) == (url,)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "4222", ":4222", "localhost:", "localhost:abc", "localhost:0", "localhost:70000",
        "localhost:4222/path", "local host:4222", "::1", "[::1", "nats:/a:4222", "nats://",
        "me:secret@", "ftp://a:21", "a:4222,b:4222",
    ],
)  # fmt: skip
def test_what_is_not_an_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidSettingError) as caught:
        server_urls(("a:4222", text), "account")
    assert caught.value.key == "urls[1]"
    assert "secret" not in str(caught.value)
    assert str(caught.value).endswith(
        "is not an address for source account (write HOST:PORT, nats://HOST:PORT or tls://HOST:PORT)"
    )


def test_settings_hold_addresses_with_a_scheme() -> None:
    assert SystemSettings(urls=("a:4222",)) == SystemSettings(urls=("nats://a:4222",))
    assert EventAccountSettings(urls=("a",)).urls == ("nats://a:4222",)


def test_the_events_of_a_monitor_source_have_nats_addresses() -> None:
    with pytest.raises(InvalidSettingError, match="is not an address for source account"):
        EventAccountSettings(urls=("http://a:8222",))
