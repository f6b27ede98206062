"""A consistent view of all systems for one scrape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from exporter import catalog
from exporter.exposition.text_format import Block
from exporter.polling.state import SystemState
from exporter.samples.events import event_self_samples
from exporter.samples.owner_limits import ignored_assets
from exporter.samples.self_metrics import SelfSample
from streamgauge.serving.logs import StreamgaugeHandler


@dataclass(frozen=True, slots=True)
class ScrapeView:
    now: float
    systems: tuple[tuple[str, SystemState], ...]
    reload_ok: bool | None = None  # None where there is nothing to reload
    loaded: float | None = None  # when the current settings were loaded

    def blocks(self) -> list[tuple[Block, ...]]:
        return [state.served(self.now).blocks for _, state in self.systems]

    def self_samples(self) -> Iterator[SelfSample]:
        if self.reload_ok is not None:
            yield SelfSample(catalog.CONFIG_LAST_RELOAD_SUCCESS, (), float(self.reload_ok))
        if self.loaded is not None:
            yield SelfSample(catalog.CONFIG_LAST_RELOAD_TIMESTAMP_SECONDS, (), self.loaded)
        if StreamgaugeHandler.dropped:
            yield SelfSample(catalog.LOG_LINES_DROPPED, (), StreamgaugeHandler.dropped)
        for system, state in self.systems:
            yield from state_samples(system, state, self.now)


def state_samples(name: str, state: SystemState, now: float) -> Iterator[SelfSample]:
    if state.polls == 0:
        return
    system = (name,)
    yield SelfSample(catalog.UP, system, float(state.complete))
    yield SelfSample(catalog.SERIES, system, state.served(now).series)
    yield SelfSample(catalog.SERIES_DROPPED, system, state.series_dropped)
    for reason, number in state.served(now).metadata_dropped.items():
        yield SelfSample(catalog.METADATA_DROPPED_VALUES, (name, reason), number)
    yield SelfSample(catalog.HISTORY_DROPPED_ASSETS, system, state.history_dropped)
    maybe = (
        (catalog.SNAPSHOT_AGE_SECONDS, state.age(now)),
        (catalog.FIRST_SNAPSHOT_TIMESTAMP_SECONDS, state.first_response),
        (catalog.POLL_DURATION_SECONDS, state.poll_seconds),
        (catalog.SERVERS_EXPECTED, state.servers_expected),
        (catalog.SERVERS_RESPONDING, state.servers_responding),
    )
    for metric, value in maybe:
        if value is not None:
            yield SelfSample(metric, system, value)
    for threshold, limit in state.limits.items():
        yield SelfSample(catalog.CONDITION_THRESHOLD, (name, threshold), limit)
    yield from event_self_samples(name, state.events)
    if not state.is_stale(now):
        for (condition, reason), number in sorted(state.signals.unjudged.items()):
            yield SelfSample(catalog.CONDITIONS_UNJUDGED, (name, condition, reason), number)
        for asset, number in ignored_assets(state.snapshot).items():
            yield SelfSample(catalog.IGNORED_ASSETS, (name, asset), number)
    for request, record in state.requests.items():
        labels = (*system, request)
        yield SelfSample(catalog.REQUEST_SUCCESS, labels, float(record.outcome.ok))
        yield SelfSample(catalog.REQUEST_DURATION_SECONDS, labels, record.outcome.seconds)
    for skipped in state.skipped:
        yield SelfSample(catalog.REQUEST_SKIPPED, (*system, skipped.request, skipped.reason), 1)
    for (request, reason), number in sorted(state.errors.items()):
        yield SelfSample(catalog.POLL_ERRORS, (*system, request, reason), number)
