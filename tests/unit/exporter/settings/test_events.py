"""The events section of a system: valid settings and errors."""

import pytest

from exporter.settings.events import (
    OWN_INBOX_PREFIX,
    EventSettings,
    PublishAckTapSettings,
    check_events,
    own_inbox_prefix,
)
from streamgauge.serving.settings.loader import InvalidSettingError, SettingsError, build


def test_by_default_events_are_on_and_the_tap_is_off() -> None:
    settings = build(EventSettings, {}, "file.yml")
    assert settings.enabled
    assert not settings.publish_ack_tap.enabled
    assert (settings.account, settings.capture_stream) == (None, "")


def test_every_key_can_be_set() -> None:
    settings = build(
        EventSettings,
        {
            "account": {
                "name": "APP",
                "urls": ["nats://127.0.0.1:4222"],
                "user": "listener",
                "password_file": "secret",
                "tls": {"ca": "ca.pem", "cert": "cert.pem", "key": "key.pem"},
            },
            "capture_stream": "ADVISORIES",
            "publish_ack_tap": {
                "enabled": True,
                "max_rate": 50,
                "max_byte_rate": "1MiB",
                "inbox_prefixes": ["_INBOX", "_INBOX_orders"],
                "queue": 10,
            },
        },
        "file.yml",
    )
    assert settings.account is not None
    assert settings.account.user == "listener"
    assert settings.publish_ack_tap.max_byte_rate == 1024**2


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ({"enable": True}, "file.yml: enable: unknown key (did you mean enabled?)"),
        ({"capture_stream": "a.b"}, 'file.yml: capture_stream: "a.b" is not a stream name'),
        (
            {"enabled": False, "capture_stream": "A"},
            "file.yml: capture_stream: has no effect while events are not enabled",
        ),
        (
            {"enabled": False, "publish_ack_tap": {"enabled": True}},
            "file.yml: publish_ack_tap: has no effect while events are not enabled",
        ),
        (
            {"account": {"user": "a", "token_file": "t"}},
            "file.yml: account.token_file: is given together with user: choose one",
        ),
        (
            {"account": {"password_file": "t"}},
            "file.yml: account.user: is missing, but a password is given",
        ),
        (
            {"account": {"tls": {"key": "k"}}},
            "file.yml: account.tls.key: has no effect without cert",
        ),
        ({"publish_ack_tap": {"inbox_prefixes": []}}, "file.yml: publish_ack_tap.inbox_prefixes: is empty"),
        (
            {"publish_ack_tap": {"queue": 0}},
            "file.yml: publish_ack_tap.queue: 0 is too small (at least 1)",
        ),
    ],
)  # fmt: skip
def test_a_configuration_error_names_its_key(given: dict[str, object], printed: str) -> None:
    with pytest.raises(SettingsError) as caught:
        build(EventSettings, given, "file.yml")
    assert str(caught.value) == printed


@pytest.mark.parametrize(
    "prefix", ["", ">", "_INBOX.>", "_INBOX.*", "$JS.EVENT", "a b", "a..b", "a."]
)
def test_what_is_no_inbox_prefix_is_refused(prefix: str) -> None:
    with pytest.raises(SettingsError, match=r"inbox_prefixes\[0\]: .* is not an inbox prefix"):
        build(PublishAckTapSettings, {"inbox_prefixes": [prefix]}, "file.yml")


@pytest.mark.parametrize("prefixes", [["_INBOX", "_INBOX"], ["_INBOX", "_INBOX.a"]])
def test_a_prefix_within_another_would_count_twice(prefixes: list[str]) -> None:
    with pytest.raises(SettingsError, match="would be counted twice"):
        build(PublishAckTapSettings, {"inbox_prefixes": prefixes}, "file.yml")


@pytest.mark.parametrize(
    ("wanted", "enabled", "used"),
    [
        ("", False, ""),
        ("", True, OWN_INBOX_PREFIX),
        ("_INBOX", True, OWN_INBOX_PREFIX),
        ("_INBOX.mine", True, OWN_INBOX_PREFIX),
        ("_INBOX_mine", True, "_INBOX_mine"),
    ],
)
def test_our_own_requests_stay_out_of_the_tap(wanted: str, enabled: bool, used: str) -> None:
    assert own_inbox_prefix(wanted, PublishAckTapSettings(enabled=enabled)) == used


@pytest.mark.parametrize(
    ("source", "given", "key"),
    [
        ("account", {"account": {"user": "a"}}, "account"),
        ("system", {"capture_stream": "A"}, "capture_stream"),
        ("monitor", {"publish_ack_tap": {"enabled": True}}, "publish_ack_tap"),
        ("monitor", {"account": {"user": "a"}}, "account.urls"),
    ],
)
def test_what_does_not_fit_the_source_is_refused(
    source: str, given: dict[str, object], key: str
) -> None:
    settings = build(EventSettings, given, "file.yml")
    with pytest.raises(InvalidSettingError) as caught:
        check_events(settings, source)
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("account", {"capture_stream": "A", "publish_ack_tap": {"enabled": True}}),
        ("system", {}),
        ("system", {"account": {"user": "a"}, "publish_ack_tap": {"enabled": True}}),
        ("monitor", {"account": {"urls": ["nats://h:4222"]}, "capture_stream": "A"}),
    ],
)
def test_what_fits_the_source_passes(source: str, given: dict[str, object]) -> None:
    check_events(build(EventSettings, given, "file.yml"), source)
