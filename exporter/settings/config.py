"""The exporter's settings classes, with the checks that run before anything starts."""

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
from exporter.model import UNNAMED
from exporter.samples.selection import full_name
from exporter.settings.access import CredentialSettings
from exporter.settings.addresses import server_urls, without_credentials
from exporter.settings.audit import AuditingSettings
from exporter.settings.events import EventSettings, check_events
from exporter.settings.opt_in import MetadataSettings, SubjectCountSettings
from exporter.signals.conditions.limits import DEFAULT_LIMITS, Limits
from exporter.sources.subsz.reader import CEILING
from streamgauge.serving.settings.loader import Duration, InvalidSettingError, Size, setting
from streamgauge.serving.settings.server import (
    LISTEN_ADDRESS_HELP,
    LogSettings,
    ServerSettings,
)

SourceName = Literal["account", "system", "monitor"]

DEFAULT_LISTEN_ADDRESS = "0.0.0.0:7778"
DEFAULT_NATS = "nats://127.0.0.1:4222"
# The exporter's own metrics are always served: rules and dashboards rely on them.
_SELECTABLE = tuple(
    name
    for name, metric in catalog.BY_NAME.items()
    if metric.subject not in (Subject.EXPORTER, Subject.ARCHIVE, Subject.ROLLUP)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFilterSettings:
    include: re.Pattern[str] | None = setting(
        None, "Regular expression that the whole name must match. Default: every name."
    )
    exclude: re.Pattern[str] | None = setting(
        None, "Regular expression of names to exclude; it wins over include."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    accounts: NameFilterSettings = setting(
        NameFilterSettings(), "Which accounts are monitored (system and monitor source)."
    )
    streams: NameFilterSettings = setting(
        NameFilterSettings(), "Which streams are monitored, with their consumers."
    )
    consumers: NameFilterSettings = setting(NameFilterSettings(), "Which consumers are monitored.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishSettings:
    enabled: bool = setting(
        True, "Read the counters of the servers' own subscriptions: publishes, acks and pulls."
    )
    interval: Duration = setting(60.0, "Time between two requests.", minimum=10)
    ceiling: int = setting(
        CEILING,
        "Subscriptions of an account on one server above which the account is skipped: the request makes its publishers wait. It shows as request_skipped.",
        minimum=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSettings:
    lag: bool = setting(
        False,
        "Read the first unfinished message of lagging consumers for its timestamp; needs permission to get messages. Nothing else of a message is stored.",
    )
    lags_per_poll: int = setting(50, "Most messages to read in one poll.", minimum=1)
    filtered_redeliveries: bool = setting(
        True,
        "Count the messages that match a consumer's filter, so that redeliveries are exact for filtered consumers too.",
    )
    filtered_interval: Duration = setting(
        60.0, "Time between two rounds of such counts.", minimum=1
    )
    filtered_per_round: int = setting(100, "Most consumers to count for in one round.", minimum=1)
    filtered_subjects: int = setting(
        10_000,
        "Most subjects that the responses of one round may name. A stream with more is skipped, which shows as request_skipped.",
        minimum=1,
    )


@dataclass(frozen=True, kw_only=True)
class _Identity:
    name: str = setting(
        "",
        "The value of the label `system`: one NATS system, one JetStream domain. Default: the JetStream domain, else the name of the cluster if all servers have the same configured one, else `nats`; decided at the first complete poll, or a minute after the first response, and kept while the exporter runs. Until then nothing of the system is exported but `up` and the requests. Set it where a restart in an outage could see only some of several clusters.",
    )
    source: SourceName = setting(
        "account",
        "Where the requests go: to the JetStream API as an ordinary user of one account, to all servers as a user of the system account (all accounts), or to the HTTP monitoring ports.",
    )
    urls: tuple[str, ...] = setting(
        (DEFAULT_NATS,),
        "Addresses: any server of the system for account and system, the monitoring port of every server for monitor. `HOST:PORT` is enough.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSettings(CredentialSettings, _Identity):
    inbox_prefix: str = setting("", "Inbox prefix, for users that may not subscribe to `_INBOX.>`.")
    account: str | None = setting(
        None,
        "Name to show for the account (account source). Default: the name that the server reports.",
    )
    domain: str | None = setting(
        None,
        "JetStream domain to request (account source) or to monitor (system and monitor source). Default: the domain of the first server.",
    )
    expected_servers: int | None = setting(
        None,
        "How many servers the system has. Default: the number of addresses for monitor, else the highest number seen within an hour.",
        minimum=1,
    )
    interval: Duration | None = setting(
        None, "Time between two polls of this system. Default: the general interval.", minimum=1
    )
    timeout: Duration | None = setting(
        None,
        "Time that a poll of this system may take. Default: the general timeout.",
        minimum=0.5,
    )
    config_interval: Duration = setting(
        60.0,
        "Time between two requests for stream and consumer configuration (system and monitor source).",
        minimum=1,
    )
    config_ceiling: int = setting(
        100_000,
        "Consumers above which configuration is fetched only once, at the start: the request makes publishers wait (system and monitor source). It shows as request_skipped.",
        minimum=0,
    )
    health_interval: Duration = setting(
        60.0,
        "Time between two health checks of the servers (system and monitor source).",
        minimum=1,
    )
    account_traffic: bool = setting(
        True,
        "Connections and traffic of accounts, and leaf nodes, requested with the health check (system and monitor source). About 330 bytes per account and server.",
    )
    remember: Duration = setting(
        3600.0,
        "How long a server that stopped responding, and its streams and consumers, are shown as down.",
        minimum=0,
    )
    concurrency: int = setting(12, "Concurrent requests (account source).", minimum=1, maximum=64)
    max_response: Size = setting(
        1024**3,
        "Largest response that is received or decompressed. At most a quarter of the memory limit.",
        minimum=1024**2,
    )
    max_ephemerals: int = setting(
        50,
        "Ephemeral consumers of one stream that have series of their own; more are summed into one series.",
        minimum=0,
    )
    filters: FilterSettings = setting(
        FilterSettings(), "Names of the accounts, streams and consumers to monitor."
    )
    publishes: PublishSettings = setting(
        PublishSettings(),
        "Counts of publishes, acks and pull requests (system and monitor source).",
    )
    exact: ExactSettings = setting(
        ExactSettings(),
        "Requests about single consumers that make signals exact, sent as the account's user.",
    )
    subject_counts: SubjectCountSettings = setting(
        SubjectCountSettings(),
        "Messages by subject, of streams that are named here. Off by default.",
    )
    metadata: MetadataSettings = setting(
        MetadataSettings(),
        "Metadata of streams and consumers as labels, of keys that are named here. Off by default.",
    )
    events: EventSettings = setting(
        EventSettings(),
        "Events that only a subscription receives: advisories, ack samples, publish acks.",
    )
    audit: AuditingSettings = setting(
        AuditingSettings(), "The audit: checks that find risky configuration before it fails."
    )

    def __post_init__(self) -> None:
        if self.audit.rollups is not None and not self.name:
            raise InvalidSettingError("needs name: rollups are by system", "audit.rollups")
        if not self.urls:
            raise InvalidSettingError("is empty", "urls")
        object.__setattr__(self, "urls", server_urls(self.urls, self.source))
        self._check_credentials()
        try:
            check_events(self.events, self.source)
        except InvalidSettingError as error:
            raise InvalidSettingError(str(error), f"events.{error.key}") from error
        if self.source != "account" and self.events.account is None:
            self._refuse_without_account()

    def _refuse_without_account(self) -> None:
        if self.exact.lag:
            reason = "needs events.account: a user of the account whose messages may be read"
            raise InvalidSettingError(reason, "exact.lag")
        if self.subject_counts.streams:
            reason = "needs events.account: a user of the account of these streams"
            raise InvalidSettingError(reason, "subject_counts.streams")

    @property
    def label(self) -> str:
        """The name, and before it is known the one of last resort."""
        return self.name or UNNAMED

    def __repr__(self) -> str:
        """Short, and without the passwords that an address may contain."""
        urls = tuple(map(without_credentials, self.urls))
        return f"SystemSettings(name={self.name!r}, source={self.source!r}, urls={urls!r})"

    def __str__(self) -> str:
        return f"{self.label}: {self.source} at {', '.join(map(without_credentials, self.urls))}"

    def _check_credentials(self) -> None:
        methods = self.methods()
        for place, url in enumerate(self.urls):
            if methods and urlsplit(url).username:
                raise InvalidSettingError(
                    f"contains a user, and {methods[0]} is given too: choose one", f"urls[{place}]"
                )
        if self.source == "monitor" and methods not in ([], ["user"]):
            raise InvalidSettingError("has no effect over HTTP: use user and password", methods[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings(ServerSettings):
    listen_address: str = setting(DEFAULT_LISTEN_ADDRESS, LISTEN_ADDRESS_HELP)
    grafana_url: str = setting(
        "", "URL of the Grafana that has the dashboards. Links of alerts use it."
    )

    def __post_init__(self) -> None:
        super(WebSettings, self).__post_init__()
        if self.grafana_url and urlsplit(self.grafana_url).scheme not in ("http", "https"):
            raise InvalidSettingError(
                f'"{self.grafana_url}" is not a URL (write it like https://HOST/PATH)',
                "grafana_url",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExporterSettings:
    web: WebSettings = setting(WebSettings(), "The HTTP server: metrics and status page.")
    interval: Duration = setting(15.0, "Time between two polls of a system.", minimum=1)
    timeout: Duration = setting(10.0, "Time that one poll may take.", minimum=0.5)
    detail: Level = setting(
        Level.CORE,
        "Which metrics: `core` is what the rules, dashboards and reports use, `full` adds the rest.",
    )
    include_metrics: tuple[str, ...] = setting(
        (), "Single metrics of the level full to add, by name."
    )
    exclude_metrics: tuple[str, ...] = setting((), "Single metrics to exclude, by name.")
    max_series: int = setting(
        5_000_000,
        "Most series of one system; the exporter drops and counts any series above it.",
        minimum=1,
    )
    forecasts: Path | None = setting(
        None,
        "File with forecasts, as a rollup writes it into its folder, to be served with the other metrics. The exporter reads it when it changes; it may appear later. forecast_file_success reports its state.",
    )
    thresholds: Limits = setting(
        DEFAULT_LIMITS,
        "Thresholds by which the exporter judges conditions, by the names of `streamgauge alerts thresholds`. The others are set in the rules, by `streamgauge alerts render --set`.",
    )
    log: LogSettings = setting(LogSettings(), "The log on stderr.")
    systems: tuple[SystemSettings, ...] = setting(
        (SystemSettings(),), "The NATS systems to monitor."
    )

    def __post_init__(self) -> None:
        _check_metrics(self.include_metrics, "include_metrics")
        _check_metrics(self.exclude_metrics, "exclude_metrics")
        if not self.systems:
            raise InvalidSettingError("is empty", "systems")
        seen: dict[str, int] = {}
        for place, system in enumerate(self.systems):
            if not system.name and len(self.systems) > 1:
                raise InvalidSettingError(
                    "is empty: of several systems each needs a name", f"systems[{place}].name"
                )
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
        if known not in _SELECTABLE:
            raise InvalidSettingError(
                f'"{name}" is not about NATS, so it cannot be chosen here', f"{key}[{place}]"
            )


def _near_metric(stem: str) -> str:
    """The name that was probably meant: an unfinished or a misspelt one."""
    stems = [chosen.removeprefix(PREFIX) for chosen in _SELECTABLE]
    begun = [known for known in stems if stem and known.startswith(stem)]
    return next(iter(begun or difflib.get_close_matches(stem, stems, n=1)), "")
