"""The page of one server."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.model import Server
from exporter.pages.asset.view import AssetView, Chart, Fact, PageSource, shown
from exporter.pages.status.problems import Facts, server_problems
from exporter.pages.status.wording import number, percent, signed, size, span
from exporter.pages.tables.servers import server_state

_CHARTS = (
    Chart("clock_offset", "Clock offset", signed),
    Chart("storage", "Storage", size),
    Chart("memory", "Memory", size),
    Chart("cpu", "CPU", percent),
)


def server_page(row: Server, source: PageSource) -> AssetView:
    facts = source.facts
    return source.view(
        "server", (row.name,), server_state(row, facts), server_problems(row, facts), _CHARTS,
        path=(Fact("Cluster", row.cluster),) if row.cluster else (),
        numbers=_numbers(row, facts),
        configuration=_configuration(row),
        unjudged=facts.signals.server_unjudged.get(row.name, ()),
    )  # fmt: skip


def _numbers(row: Server, facts: Facts) -> Iterator[Fact]:
    if row.start is not None and row.up:
        yield Fact("Up for", span(max(0.0, facts.now - row.start.timestamp())))
    if row.clock is not None:
        yield Fact("Clock offset", signed(row.clock.offset_seconds), f"± {span(row.clock.uncertainty_seconds)}")  # fmt: skip
        yield Fact("Round trip", span(row.clock.round_trip_seconds))
    for title, used, limit in (
        ("Storage", row.storage_used, row.storage_max),
        ("Memory", row.memory_used, row.memory_max),
    ):
        if used is not None:
            yield Fact(title, size(used), f"of {size(limit)}" if limit else "")
    if row.cpu_ratio is not None:
        yield Fact("CPU", percent(row.cpu_ratio), "of one core")
    if row.process_memory_bytes is not None:
        yield Fact("Process memory", size(row.process_memory_bytes))
    for title, value in (
        ("Leads streams", row.stream_leaders),
        ("Leads consumers", row.consumer_leaders),
        ("Raft groups", row.ha_assets),
        ("API requests", row.api_requests),
        ("API errors", row.api_errors),
        ("API in flight", row.api_inflight),
        ("Slow consumers", row.slow_consumers),
    ):
        if value is not None:
            yield Fact(title, number(value))
    if row.meta_leader is not None:
        yield Fact("Meta group", "leader" if row.meta_leader else "member")
    if row.healthy is not None:
        yield Fact("Health", "healthy" if row.healthy else "unhealthy")


def _configuration(row: Server) -> tuple[Fact, ...]:
    settings = row.settings
    expires = settings.tls_expires if settings else None
    return shown(
        (
            ("Version", row.version),
            ("Id", row.id),
            ("Host", row.host),
            ("Domain", row.domain),
            ("JetStream", row.jetstream),
            ("API level", row.api_level),
            ("Login required", settings.auth_required if settings else None),
            ("TLS required", settings.tls_required if settings else None),
            ("Certificate until", f"{expires:%Y-%m-%d}" if expires else None),
            ("max_payload", size(settings.max_payload) if settings and settings.max_payload else None),
            ("Disk sync", "always" if row.sync_always else None if row.sync_interval_seconds is None else f"every {span(row.sync_interval_seconds)}"),
        )
    )  # fmt: skip
