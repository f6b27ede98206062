"""All that is unwell, gravest first, one row for each asset: for pages, terminals and scripts."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from alerts import thresholds
from exporter.model import MALFORMED, Consumer, Server, Snapshot, Stream
from exporter.pages.status import advice, links
from exporter.pages.status.level import Level
from exporter.pages.status.problems import (
    Facts,
    Problem,
    consumer_problems,
    level_of,
    server_problems,
    stream_problems,
)
from exporter.pages.status.wording import span

PATH = "/api/unwell"
MAX_ROWS = 200


class UnwellRow(Struct, frozen=True):
    level: int  # of pages.status.level
    kind: str  # consumer, stream, server, account, finding, or system for all else
    system: str
    where: str  # empty: the system itself
    what: str  # the gravest problem
    since_seconds: float | None = None
    evidence: str = ""
    runbook: str = ""  # address, relative to the exporter
    page: str = ""  # likewise
    board: str = ""  # address, where Grafana is configured
    also: tuple[Problem, ...] = ()  # its other problems

    @property
    def since(self) -> str:
        if self.since_seconds is None:
            return ""
        return span(self.since_seconds) if self.since_seconds >= 1 else "now"


def asset_row(
    kind: str, system: str, key: tuple[str, ...], problems: Sequence[Problem], grafana: str = ""
) -> UnwellRow:
    first = problems[0]
    return UnwellRow(
        first.level, kind, system, " › ".join(key), first.text, first.since_seconds, first.evidence,
        links.runbook(first.runbook), links.asset_page(kind, system, key),
        links.board(grafana, kind, system, key), tuple(problems[1:]),
    )  # fmt: skip


def unwell_assets(
    snapshot: Snapshot, facts: Facts, grafana: str, most: int = MAX_ROWS
) -> tuple[list[UnwellRow], int]:
    """The gravest, and how many there are in all."""
    system = snapshot.system
    found = [
        (kind, key, problems)
        for kind, key, problems in _problems(snapshot, facts)
        if level_of(problems) is not Level.OK
    ]
    shown = heapq.nsmallest(most, found, key=lambda each: _order(each[2][0], each[1]))
    return [asset_row(kind, system, key, list_, grafana) for kind, key, list_ in shown], len(found)


def _order(gravest: Problem, key: tuple[str, ...]) -> tuple[int, float, tuple[str, ...]]:
    """Among equals, what has lasted longest."""
    return -gravest.level, -(gravest.since_seconds or 0.0), key


def gravest_first(rows: Iterable[UnwellRow]) -> list[UnwellRow]:
    return sorted(rows, key=lambda row: (-row.level, -(row.since_seconds or 0.0), row.where))


def _problems(
    snapshot: Snapshot, facts: Facts
) -> Iterator[tuple[str, tuple[str, ...], tuple[Problem, ...]]]:
    for consumer in suspect_consumers(snapshot.consumers, facts):
        key = (consumer.account, consumer.stream, consumer.name)
        yield "consumer", key, consumer_problems(consumer, facts)
    for stream in suspect_streams(snapshot, facts):
        yield "stream", (stream.account, stream.name), stream_problems(stream, facts)
    for server in snapshot.servers:
        if server.name in facts.signals.server_conditions:
            yield "server", (server.name,), server_problems(server, facts)


def suspect_consumers(rows: Sequence[Consumer], facts: Facts) -> Iterator[Consumer]:
    """Those that may have a problem: few of 100,000."""
    signals, earliest = facts.signals, facts.now - thresholds.RECENT_EVENT.value
    keys = {key for key, one in signals.consumers.items() if one.conditions}
    keys |= {
        key
        for key, events in signals.consumer_events.items()
        if any(c in advice.EVENTS and e.last > earliest for c, e in events.items())
    }
    names = {key[2] for key in keys}
    for row in rows:
        if (
            (row.name in names and (row.account, row.stream, row.name) in keys)
            or (not row.up and row.reason == MALFORMED)
            or (row.config is not None and row.config.thresholds.limits)
        ):
            yield row


def suspect_streams(snapshot: Snapshot, facts: Facts) -> Iterator[Stream]:
    held, events = facts.signals.stream_conditions, facts.signals.stream_events
    for row in snapshot.streams:
        key = (row.account, row.name)
        if (
            key in held
            or key in events
            or row.lost
            or row.reason == MALFORMED
            or (row.config is not None and row.config.thresholds.limits)
        ):
            yield row


def find_consumer(snapshot: Snapshot, account: str, stream: str, name: str) -> Consumer | None:
    found = (r for r in snapshot.consumers if r.name == name)
    return next((r for r in found if (r.account, r.stream) == (account, stream)), None)


def find_stream(snapshot: Snapshot, account: str, name: str) -> Stream | None:
    return next((r for r in snapshot.streams if (r.name, r.account) == (name, account)), None)


def find_server(servers: Sequence[Server], name: str) -> Server | None:
    return next((row for row in servers if row.name == name), None)
