"""The settings of a system's events: what to listen to, as whom, and within which limits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from exporter.settings.access import TlsSettings, chosen_credentials
from streamgauge.serving.settings.loader import InvalidSettingError, Secret, Size, setting

# The exporter's own requests use this inbox while the tap listens to the usual one.
OWN_INBOX_PREFIX = "_INBOX_streamgauge"
USUAL_INBOX_PREFIX = "_INBOX"

_INBOX_PREFIX = re.compile(r"[^\s.*>$][^\s.*>]*(\.[^\s.*>]+)*")
_STREAM_NAME = re.compile(r"[^\s.*>/\\]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventAccountSettings:
    """An ordinary user of the account whose events are heard."""

    name: str = setting(
        "",
        "Name to show for the account; as the server calls it when left out. Needed before 2.10, and it must be the name that the polls show.",
    )
    urls: tuple[str, ...] = setting(
        (), "NATS addresses of any server; those of the system when left out (system source)."
    )
    user: str = setting("", "User name.")
    password: Secret | None = setting(
        None, "Password of the user. Better: password_file.", secret=True
    )
    password_file: Path | None = setting(None, "File that holds the password.")
    token: Secret | None = setting(
        None, "Token, for servers that take one. Better: token_file.", secret=True
    )
    token_file: Path | None = setting(None, "File that holds the token.")
    nkey_seed_file: Path | None = setting(None, "File that holds the seed of an nkey.")
    creds_file: Path | None = setting(None, "Credentials file (JWT and seed), as `nsc` writes it.")
    tls: TlsSettings | None = setting(
        None, "TLS to NATS, where `tls://` in an address does not say enough."
    )
    inbox_prefix: str = setting(
        OWN_INBOX_PREFIX,
        "Prefix of the inbox for answers: the account's name and captured advisories are asked for.",
    )

    def __post_init__(self) -> None:
        chosen_credentials(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishAckTapSettings:
    enabled: bool = setting(
        False,
        "Listen to all replies of the account for publishes that were not stored. Read the privacy note first.",
    )
    max_rate: int = setting(
        10_000,
        "Messages a second, over five seconds, above which the tap switches itself off until a reload.",
        minimum=1,
    )
    max_byte_rate: Size = setting(32 * 1024**2, "The same in bytes a second.", minimum=1024)
    inbox_prefixes: tuple[str, ...] = setting(
        (USUAL_INBOX_PREFIX,), "Inbox prefixes of the publishers; never a subject of a stream."
    )
    queue: int = setting(
        65_536, "Messages that may wait to be looked at; more are dropped and counted.", minimum=1
    )

    def __post_init__(self) -> None:
        if not self.inbox_prefixes:
            raise InvalidSettingError("is empty", "inbox_prefixes")
        for place, prefix in enumerate(self.inbox_prefixes):
            key, others = f"inbox_prefixes[{place}]", [*self.inbox_prefixes]
            del others[place]
            if not _INBOX_PREFIX.fullmatch(prefix):
                hint = "words with dots between, no wildcards, not $..."
                raise InvalidSettingError(f'"{prefix}" is no inbox prefix ({hint})', key)
            if any(_is_within(prefix, other) for other in others):
                raise InvalidSettingError(f'"{prefix}" would be heard twice', key)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSettings:
    enabled: bool = setting(
        True, "Listen to advisories and ack samples; needs permission to subscribe to them."
    )
    account: EventAccountSettings | None = setting(
        None,
        "A user of the account to listen to, beside a system or monitor source; the account source listens as itself.",
    )
    capture_stream: str = setting(
        "",
        "An existing stream that stores `$JS.EVENT.ADVISORY.CONSUMER.>`: consumer events are then counted from it, and none is missed while the exporter is not connected.",
    )
    capture_batch: int = setting(10_000, "Most captured advisories to read in one poll.", minimum=1)
    publish_ack_tap: PublishAckTapSettings = setting(
        PublishAckTapSettings(), "Duplicates and rejections, from publish acknowledgements."
    )

    def __post_init__(self) -> None:
        if not _STREAM_NAME.fullmatch(self.capture_stream):
            raise InvalidSettingError(
                f'"{self.capture_stream}" is no stream name', "capture_stream"
            )
        if not self.enabled and (self.capture_stream or self.publish_ack_tap.enabled):
            key = "capture_stream" if self.capture_stream else "publish_ack_tap"
            raise InvalidSettingError("is of no use while events are not enabled", key)


def check_events(settings: EventSettings, source: str) -> None:
    """What fits one source and not another; `source` is account, system or monitor."""
    if source == "account":
        if settings.account is not None:
            raise InvalidSettingError(
                "is of no use: the account source listens as itself", "account"
            )
        return
    if settings.account is None:
        needing = ["capture_stream"] if settings.capture_stream else []
        needing += ["publish_ack_tap"] if settings.publish_ack_tap.enabled else []
        if needing:
            raise InvalidSettingError(
                "needs account: a user of the account to listen to", needing[0]
            )
    elif source == "monitor" and not settings.account.urls:
        raise InvalidSettingError("is empty, and the monitoring ports are no NATS addresses",
                                  "account.urls")  # fmt: skip


def own_inbox_prefix(wanted: str, tap: PublishAckTapSettings) -> str:
    """The inbox for the exporter's own requests: not one that its tap listens to."""
    if not tap.enabled:
        return wanted
    prefix = wanted or USUAL_INBOX_PREFIX
    heard = any(_is_within(prefix, each) for each in tap.inbox_prefixes)
    return OWN_INBOX_PREFIX if heard else wanted


def _is_within(prefix: str, other: str) -> bool:
    return prefix == other or prefix.startswith(f"{other}.")
