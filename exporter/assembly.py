"""From settings to working parts: which source, with which access, rendered how."""

from __future__ import annotations

from exporter.config import ExporterSettings, NameFilterSettings, SystemSettings, TlsSettings
from exporter.poll import SystemPoller
from exporter.samples.render import Limits, Renderer
from exporter.samples.selection import Selection, full_name
from exporter.sources.account import AccountSource
from exporter.sources.connection import NatsLink
from exporter.sources.credentials import NatsAccess, TlsAccess, without_secrets
from exporter.sources.filters import Filters, NameFilter
from exporter.sources.monitor import HttpAccess, MonitorSource
from exporter.sources.servers_snapshot import SourceOptions
from exporter.sources.source import Source
from exporter.sources.system import SystemSource


def make_poller(settings: ExporterSettings, system: SystemSettings) -> SystemPoller:
    return SystemPoller(
        system=system.name,
        source_name=system.source,
        targets=tuple(without_secrets(url) for url in system.urls),
        source=make_source(system),
        renderer=Renderer(
            system.name,
            make_selection(settings),
            Limits(settings.max_series, system.max_ephemerals),
        ),
        interval=system.interval or settings.interval,
        timeout=system.timeout or settings.timeout,
    )


def make_selection(settings: ExporterSettings) -> Selection:
    return Selection(
        settings.detail,
        frozenset(filter(None, map(full_name, settings.include_metrics))),
        frozenset(filter(None, map(full_name, settings.exclude_metrics))),
    )


def make_source(system: SystemSettings) -> Source:
    options = SourceOptions(
        system=system.name,
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
        max_answer_bytes=system.max_answer,
    )
    if system.source == "monitor":
        return MonitorSource(options, _http_access(system))
    link = NatsLink(_nats_access(system), f"streamgauge exporter ({system.name})")
    return (
        SystemSource(options, link) if system.source == "system" else AccountSource(options, link)
    )


def _expected_servers(system: SystemSettings) -> int | None:
    """Over HTTP every server has an address of its own, so their number is known from the start."""
    if system.expected_servers is None and system.source == "monitor":
        return len(set(system.urls))
    return system.expected_servers


def _filter(settings: NameFilterSettings) -> NameFilter:
    return NameFilter(settings.include, settings.exclude)


def _tls(settings: TlsSettings | None) -> TlsAccess | None:
    if settings is None:
        return None
    return TlsAccess(settings.ca, settings.cert, settings.key, settings.first, settings.server_name)


def _nats_access(system: SystemSettings) -> NatsAccess:
    return NatsAccess(
        addresses=system.urls,
        user=system.user,
        password=system.password.reveal() if system.password else "",
        password_file=system.password_file,
        token=system.token.reveal() if system.token else "",
        token_file=system.token_file,
        nkey_seed_file=system.nkey_seed_file,
        creds_file=system.creds_file,
        tls=_tls(system.tls),
        inbox_prefix=system.inbox_prefix,
    )


def _http_access(system: SystemSettings) -> HttpAccess:
    return HttpAccess(
        addresses=system.urls,
        user=system.user,
        password=system.password.reveal() if system.password else "",
        password_file=system.password_file,
        tls=_tls(system.tls),
    )
