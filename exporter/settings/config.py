"""The exporter's settings: what may stand in its file, checked by the time anything runs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from exporter import catalog
from exporter.metric import PREFIX, Level, Subject
from exporter.samples.selection import full_name
from exporter.settings.access import TlsSettings, chosen_ways_in
from exporter.settings.addresses import check_url, without_credentials
from exporter.settings.audit import AuditingSettings
from exporter.settings.events import EventSettings, check_events
from exporter.sources.subsz.reader import CEILING
from streamgauge.serving.settings.loader import Duration, InvalidSettingError, Secret, Size, setting
from streamgauge.serving.settings.server import (
    LISTEN_ADDRESS_HELP,
    LogSettings,
    ServerSettings,
)

SourceName = Literal["account", "system", "monitor"]

DEFAULT_LISTEN_ADDRESS = "0.0.0.0:7778"
DEFAULT_NATS = "nats://127.0.0.1:4222"
# What the exporter says of itself is always served: rules and people rely on it.
_CHOSEN = tuple(
    name
    for name, metric in catalog.BY_NAME.items()
    if metric.subject not in (Subject.EXPORTER, Subject.ARCHIVE, Subject.ROLLUP)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFilterSettings:
    include: re.Pattern[str] | None = setting(
        None, "Regular expression that the whole name must match; everything when left out."
    )
    exclude: re.Pattern[str] | None = setting(
        None, "Regular expression of names to leave out; it wins over include."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    accounts: NameFilterSettings = setting(
        NameFilterSettings(), "Which accounts are looked at (system and monitor source)."
    )
    streams: NameFilterSettings = setting(
        NameFilterSettings(), "Which streams are looked at, with their consumers."
    )
    consumers: NameFilterSettings = setting(NameFilterSettings(), "Which consumers are looked at.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishSettings:
    enabled: bool = setting(
        True, "Read the counters of the servers' own subscriptions: publishes, acks and pulls."
    )
    interval: Duration = setting(60.0, "Time between two readings.", minimum=10)
    ceiling: int = setting(
        CEILING,
        "Subscriptions of an account on one server above which that account stays out: reading them makes its publishers wait. It shows as request_skipped.",
        minimum=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSettings:
    lag: bool = setting(
        False,
        "Read the first unfinished message of lagging consumers for its time; needs permission to get messages. Nothing else of a message is kept.",
    )
    lags_per_poll: int = setting(50, "Most messages to read in one poll.", minimum=1)
    filtered_redeliveries: bool = setting(
        True, "Count the messages that pass a filter, so that redeliveries are exact there too."
    )
    filtered_interval: Duration = setting(
        60.0, "Time between two rounds of such counts.", minimum=1
    )
    filtered_per_round: int = setting(100, "Most consumers to count for in one round.", minimum=1)
    filtered_subjects: int = setting(
        10_000,
        "Most subjects that the answers of one round may name; a stream with more is left out, and that shows as request_skipped.",
        minimum=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSettings:
    name: str = setting(
        "nats", "The value of the label `system`: one NATS system, one JetStream domain."
    )
    source: SourceName = setting(
        "account",
        "How to ask: as an ordinary user of one account, as a user of the system account (all servers, all accounts), or over the HTTP monitoring ports.",
    )
    urls: tuple[str, ...] = setting(
        (DEFAULT_NATS,),
        "Addresses: any server of the system for account and system, the monitoring port of every server for monitor.",
    )
    user: str = setting("", "User name, for NATS or for basic auth of the monitoring port.")
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
        None,
        "TLS to NATS or to the monitoring ports; needed for anything that `tls://` or `https://` alone does not say.",
    )
    inbox_prefix: str = setting(
        "", "Prefix of the inbox, where the user may not subscribe to `_INBOX.>`."
    )
    account: str | None = setting(
        None, "Name to show for the account (account source); as the server calls it when left out."
    )
    domain: str | None = setting(
        None,
        "JetStream domain to ask (account source) or to keep (system and monitor); that of the first server when left out.",
    )
    expected_servers: int | None = setting(
        None,
        "How many servers the system has. When left out: the number of addresses with monitor, else the most seen within an hour.",
        minimum=1,
    )
    interval: Duration | None = setting(
        None, "Time between two polls of this system; the general one when left out.", minimum=1
    )
    timeout: Duration | None = setting(
        None,
        "Time that a poll of this system may take; the general one when left out.",
        minimum=0.5,
    )
    config_interval: Duration = setting(
        60.0,
        "Time between two readings of stream and consumer configuration (system and monitor source).",
        minimum=1,
    )
    config_ceiling: int = setting(
        100_000,
        "Consumers above which configuration is read only once, at the start: reading it all makes publishers wait (system and monitor source). It shows as request_skipped.",
        minimum=0,
    )
    health_interval: Duration = setting(
        60.0,
        "Time between two health checks of the servers (system and monitor source).",
        minimum=1,
    )
    remember: Duration = setting(
        3600.0, "How long a server that went silent, and what it held, stays as down.", minimum=0
    )
    concurrency: int = setting(
        12, "Requests under way at once (account source).", minimum=1, maximum=64
    )
    max_response: Size = setting(1024**3, "Largest answer that is unpacked.", minimum=1024**2)
    max_ephemerals: int = setting(
        50,
        "Ephemeral consumers on one stream that keep series of their own; more are summed into one row.",
        minimum=0,
    )
    filters: FilterSettings = setting(FilterSettings(), "Names to look at.")
    publishes: PublishSettings = setting(
        PublishSettings(),
        "Counting what was published, acknowledged and pulled (system and monitor source).",
    )
    exact: ExactSettings = setting(
        ExactSettings(),
        "Requests about single consumers that make signals exact; asked as the account's user.",
    )
    events: EventSettings = setting(EventSettings(), "What only a subscription hears.")
    audit: AuditingSettings = setting(
        AuditingSettings(), "Looking for what is wrong before it breaks."
    )

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidSettingError("is empty", "name")
        if not self.urls:
            raise InvalidSettingError("is empty", "urls")
        for place, url in enumerate(self.urls):
            check_url(url, self.source, f"urls[{place}]")
        self._check_ways_in()
        try:
            check_events(self.events, self.source)
        except InvalidSettingError as error:
            raise InvalidSettingError(str(error), f"events.{error.key}") from error
        if self.exact.lag and self.source != "account" and self.events.account is None:
            reason = "needs events.account: a user of the account whose messages may be read"
            raise InvalidSettingError(reason, "exact.lag")

    def __repr__(self) -> str:
        """Short, and without the passwords that an address may carry."""
        urls = tuple(map(without_credentials, self.urls))
        return f"SystemSettings(name={self.name!r}, source={self.source!r}, urls={urls!r})"

    def __str__(self) -> str:
        return f"{self.name}: {self.source} at {', '.join(map(without_credentials, self.urls))}"

    def _check_ways_in(self) -> None:
        ways = chosen_ways_in(self)
        for place, url in enumerate(self.urls):
            if ways and urlsplit(url).username:
                raise InvalidSettingError(
                    f"holds a user, and {ways[0]} is given too: choose one", f"urls[{place}]"
                )
        if self.source == "monitor" and ways not in ([], ["user"]):
            raise InvalidSettingError("is of no use over HTTP: use user and password", ways[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings(ServerSettings):
    listen_address: str = setting(DEFAULT_LISTEN_ADDRESS, LISTEN_ADDRESS_HELP)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExporterSettings:
    web: WebSettings = setting(WebSettings(), "The HTTP server: metrics and status page.")
    interval: Duration = setting(15.0, "Time between two polls of a system.", minimum=1)
    timeout: Duration = setting(10.0, "Time that one poll may take.", minimum=0.5)
    detail: Level = setting(
        Level.CORE,
        "Which metrics: `core` is what our rules, boards and reports use, `full` adds the rest.",
    )
    include_metrics: tuple[str, ...] = setting(
        (), "Single metrics of the level full to add, by name."
    )
    exclude_metrics: tuple[str, ...] = setting((), "Single metrics to leave out, by name.")
    max_series: int = setting(
        5_000_000, "Most series of one system; what goes beyond is left out and counted.", minimum=1
    )
    forecasts: Path | None = setting(
        None,
        "File with forecasts, as a rollup leaves it in its folder, to be served beside the rest. It is read when it changes and may come later; forecast_file_success tells how it is.",
    )
    log: LogSettings = setting(LogSettings(), "The log on stderr.")
    systems: tuple[SystemSettings, ...] = setting((SystemSettings(),), "The NATS systems to watch.")

    def __post_init__(self) -> None:
        _check_metrics(self.include_metrics, "include_metrics")
        _check_metrics(self.exclude_metrics, "exclude_metrics")
        if not self.systems:
            raise InvalidSettingError("is empty", "systems")
        seen: dict[str, int] = {}
        for place, system in enumerate(self.systems):
            first = seen.setdefault(system.name, place)
            if first != place:
                raise InvalidSettingError(
                    f'"{system.name}" is already the name of systems[{first}]',
                    f"systems[{place}].name",
                )


def _check_metrics(names: Iterable[str], key: str) -> None:
    for place, name in enumerate(names):
        known = full_name(name)
        if known is None:
            near = _near_metric(name.removeprefix(PREFIX))
            hint = f" (did you mean {PREFIX}{near}?)" if near else ""
            raise InvalidSettingError(f'there is no metric "{name}"{hint}', f"{key}[{place}]")
        if known not in _CHOSEN:
            raise InvalidSettingError(
                f'"{name}" is not about NATS, so it cannot be chosen here', f"{key}[{place}]"
            )


def _near_metric(stem: str) -> str:
    """The name that was probably meant: begun and not finished, or misspelt."""
    stems = [chosen.removeprefix(PREFIX) for chosen in _CHOSEN]
    begun = [known for known in stems if stem and known.startswith(stem)]
    return next(iter(begun or difflib.get_close_matches(stem, stems, n=1)), "")
