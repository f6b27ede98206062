"""Builds pollers and sources from settings."""

from __future__ import annotations

from operator import attrgetter

from exporter.audit.history.reader import HistoryReader
from exporter.audit.periodic_audit import AuditState
from exporter.events.session import EventSession
from exporter.events.subscriptions import SourceInfo, make_event_session
from exporter.polling.account_requests import AccountRequests
from exporter.polling.loop import NAMING_SECONDS, SystemPoller
from exporter.samples.render import Limits, Renderer
from exporter.samples.selection import Selection, full_name
from exporter.settings.config import ExporterSettings, NameFilterSettings, SystemSettings
from exporter.settings.events import own_inbox_prefix
from exporter.settings.opt_in import SubjectCountSettings
from exporter.sources.account import AccountSource
from exporter.sources.exact_requests.reader import ExactOptions
from exporter.sources.filters import Filters, NameFilter
from exporter.sources.monitor import HttpAccess, MonitorSource
from exporter.sources.servers.snapshot import SourceOptions
from exporter.sources.source import Source
from exporter.sources.subject_counts import CountedStream, SubjectOptions
from exporter.sources.subsz.publish_counts import PublishOptions
from exporter.sources.system import SystemSource
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.credentials import NatsAccess, without_secrets
from streamgauge.serving.memory_limit import within_memory


def make_poller(
    settings: ExporterSettings, system: SystemSettings, naming_seconds: float = NAMING_SECONDS
) -> SystemPoller:
    source = make_source(system)
    event_session = make_event_session(system.events, _source_info(system, source))
    return SystemPoller(
        system=system.label,
        source_name=system.source,
        targets=tuple(without_secrets(url) for url in system.urls),
        source=source,
        renderer=Renderer(
            system.label,
            make_selection(settings),
            Limits(
                settings.max_series,
                system.max_ephemerals,
                system.metadata.max_series if system.metadata.keys else None,
            ),
        ),
        interval=system.interval or settings.interval,
        timeout=system.timeout or settings.timeout,
        event_session=event_session,
        account_requests=_account_requests(system, source, event_session),
        publish_interval=system.publishes.interval,
        audit=_audit(system),
        unnamed=not system.name,
        naming_seconds=naming_seconds,
        limits=settings.thresholds,
    )


def _audit(system: SystemSettings) -> AuditState | None:
    audit = system.audit
    if not audit.enabled:
        return None
    if audit.rollups is None:
        return AuditState(audit.interval, audit.pure())
    history = HistoryReader(audit.rollups, system.label)
    return AuditState(audit.interval, audit.pure(), history.latest)


def _source_info(system: SystemSettings, source: Source) -> SourceInfo:
    connection = source.connection if isinstance(source, AccountSource) else None
    access = None if isinstance(source, MonitorSource) else _nats_access(system)
    account = system.account or "" if system.source == "account" else ""
    return SourceInfo(system.label, system.source, access, connection, account, system.domain)


def _account_requests(
    system: SystemSettings, source: Source, event_session: EventSession | None
) -> AccountRequests | None:
    exact, subjects = system.exact, _subject_options(system.subject_counts)
    if not (exact.lag or exact.filtered_redeliveries or subjects.streams):
        return None
    options = ExactOptions(
        exact_lag=exact.lag,
        lags_per_poll=exact.lags_per_poll,
        filtered_counts=exact.filtered_redeliveries,
        counts_interval=exact.filtered_interval,
        counts_per_round=exact.filtered_per_round,
        most_subjects=exact.filtered_subjects,
    )
    if isinstance(source, AccountSource):
        return AccountRequests(
            source.connection, attrgetter("own_account"), options, system.domain, subjects
        )
    if event_session is None or event_session.connection is None:
        return None
    state = event_session.state
    return AccountRequests(
        event_session.connection,
        lambda _: state.own_account if state.named else "",
        options,
        system.domain,
        subjects,
    )


def _subject_options(settings: SubjectCountSettings) -> SubjectOptions:
    streams = tuple(CountedStream(each.name, each.filter, each.top) for each in settings.streams)
    return SubjectOptions(streams, settings.interval, settings.max_subjects)


def make_selection(settings: ExporterSettings) -> Selection:
    return Selection(
        settings.detail,
        frozenset(filter(None, map(full_name, settings.include_metrics))),
        frozenset(filter(None, map(full_name, settings.exclude_metrics))),
    )


def make_source(system: SystemSettings) -> Source:
    options = SourceOptions(
        system=system.label,
        filters=Filters(
            _filter(system.filters.accounts),
            _filter(system.filters.streams),
            _filter(system.filters.consumers),
        ),
        account=system.account,
        domain=system.domain,
        expected_servers=_expected_servers(system),
        config_interval=system.config_interval,
        config_ceiling=system.config_ceiling,
        health_interval=system.health_interval,
        remember_seconds=system.remember,
        concurrency=system.concurrency,
        max_response_bytes=within_memory(system.max_response, 4, "systems.max_response"),
        publishes=PublishOptions(
            system.publishes.enabled, system.publishes.interval, system.publishes.ceiling
        ),
        read_settings=system.audit.enabled,
        account_traffic=system.account_traffic,
        metadata_keys=system.metadata.keys,
    )
    if system.source == "monitor":
        return MonitorSource(options, _http_access(system))
    connection = NatsConnection(
        _nats_access(system),
        f"streamgauge exporter ({system.label})",
        max_response_bytes=options.max_response_bytes,
    )
    return (
        SystemSource(options, connection)
        if system.source == "system"
        else AccountSource(options, connection)
    )


def _expected_servers(system: SystemSettings) -> int | None:
    """Over HTTP every server has its own address, so the number is known from the start."""
    if system.expected_servers is None and system.source == "monitor":
        return len(set(system.urls))
    return system.expected_servers


def _filter(settings: NameFilterSettings) -> NameFilter:
    return NameFilter(settings.include, settings.exclude)


def _nats_access(system: SystemSettings) -> NatsAccess:
    inbox = own_inbox_prefix(system.inbox_prefix, system.events.publish_ack_tap)
    return system.nats_access(system.urls, inbox)


def _http_access(system: SystemSettings) -> HttpAccess:
    return HttpAccess(
        addresses=system.urls,
        user=system.user,
        password=system.password.reveal() if system.password else "",
        password_file=system.password_file,
        tls=system.tls.access() if system.tls else None,
    )
