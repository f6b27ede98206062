"""Settings of a system's events: subscriptions, account, capture stream, publish-ack tap."""

from __future__ import annotations

import re
from dataclasses import dataclass

from exporter.settings.access import CredentialSettings
from exporter.settings.addresses import server_urls
from streamgauge.serving.settings.loader import InvalidSettingError, Size, setting

# The inbox of the exporter's own requests while the tap subscribes to the usual one.
OWN_INBOX_PREFIX = "_INBOX_streamgauge"
USUAL_INBOX_PREFIX = "_INBOX"

_INBOX_PREFIX = re.compile(r"[^\s.*>$][^\s.*>]*(\.[^\s.*>]+)*")
_STREAM_NAME = re.compile(r"[^\s.*>/\\]*")


@dataclass(frozen=True, kw_only=True)
class _Account:
    name: str = setting(
        "",
        "Name to show for the account. Default: the name that the server reports. Servers before 2.10 report none; then set the name that the polls show.",
    )
    urls: tuple[str, ...] = setting(
        (),
        "NATS addresses of any server. Default: the addresses of the system (system source).",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventAccountSettings(CredentialSettings, _Account):
    """An ordinary user of the account whose events are counted."""

    inbox_prefix: str = setting(
        OWN_INBOX_PREFIX,
        "Prefix of the inbox for responses: the exporter requests the account's name and captured advisories.",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "urls", server_urls(self.urls, "account"))
        self.methods()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishAckTapSettings:
    enabled: bool = setting(
        False,
        "Subscribe to all replies of the account, to count publishes that were not stored. Read the privacy note first.",
    )
    max_rate: int = setting(
        10_000,
        "Messages per second, over five seconds, above which the tap turns itself off until a reload.",
        minimum=1,
    )
    max_byte_rate: Size = setting(32 * 1024**2, "The same limit in bytes per second.", minimum=1024)
    inbox_prefixes: tuple[str, ...] = setting(
        (USUAL_INBOX_PREFIX,), "Inbox prefixes of the publishers. Never set a subject of a stream."
    )
    queue: int = setting(
        65_536,
        "Messages that may wait in the subscription's queue; more are dropped and counted.",
        minimum=1,
    )

    def __post_init__(self) -> None:
        if not self.inbox_prefixes:
            raise InvalidSettingError("is empty", "inbox_prefixes")
        for place, prefix in enumerate(self.inbox_prefixes):
            key, others = f"inbox_prefixes[{place}]", [*self.inbox_prefixes]
            del others[place]
            if not _INBOX_PREFIX.fullmatch(prefix):
                hint = "tokens with dots between, no wildcards, not $..."
                raise InvalidSettingError(f'"{prefix}" is not an inbox prefix ({hint})', key)
            if any(_is_within(prefix, other) for other in others):
                raise InvalidSettingError(
                    f'"{prefix}" would be counted twice: another prefix covers it', key
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSettings:
    enabled: bool = setting(
        True, "Subscribe to advisories and ack samples; needs permission to subscribe to them."
    )
    account: EventAccountSettings | None = setting(
        None,
        "A user of the account whose events are counted, for the system and monitor source. The account source uses its own user.",
    )
    capture_stream: str = setting(
        "",
        "An existing stream that stores `$JS.EVENT.ADVISORY.CONSUMER.>`. Consumer events are then counted from it, and none is lost while the exporter is not connected.",
    )
    capture_batch: int = setting(10_000, "Most captured advisories to read in one poll.", minimum=1)
    publish_ack_tap: PublishAckTapSettings = setting(
        PublishAckTapSettings(), "Duplicates and rejections, from publish acknowledgements."
    )

    def __post_init__(self) -> None:
        if not _STREAM_NAME.fullmatch(self.capture_stream):
            raise InvalidSettingError(
                f'"{self.capture_stream}" is not a stream name', "capture_stream"
            )
        if not self.enabled and (self.capture_stream or self.publish_ack_tap.enabled):
            key = "capture_stream" if self.capture_stream else "publish_ack_tap"
            raise InvalidSettingError("has no effect while events are not enabled", key)


def check_events(settings: EventSettings, source: str) -> None:
    """Checks what depends on the source: account, system or monitor."""
    if source == "account":
        if settings.account is not None:
            raise InvalidSettingError(
                "has no effect: the account source uses its own user", "account"
            )
        return
    if settings.account is None:
        needing = ["capture_stream"] if settings.capture_stream else []
        needing += ["publish_ack_tap"] if settings.publish_ack_tap.enabled else []
        if needing:
            raise InvalidSettingError(
                "needs account: a user of the account whose events are counted", needing[0]
            )
    elif source == "monitor" and not settings.account.urls:
        raise InvalidSettingError("is empty, and the monitoring ports are not NATS addresses",
                                  "account.urls")  # fmt: skip


def own_inbox_prefix(wanted: str, tap: PublishAckTapSettings) -> str:
    """The inbox of the exporter's own requests: never one that its tap subscribes to."""
    if not tap.enabled:
        return wanted
    prefix = wanted or USUAL_INBOX_PREFIX
    tapped = any(_is_within(prefix, each) for each in tap.inbox_prefixes)
    return OWN_INBOX_PREFIX if tapped else wanted


def _is_within(prefix: str, other: str) -> bool:
    return prefix == other or prefix.startswith(f"{other}.")
