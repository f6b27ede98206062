"""Findings about servers, their clocks, and what was published to streams."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as words
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.facts.arithmetic import known
from spark_rollups.report.facts.assets import Of
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.publishing import CODES, Rejections, dedupe_memory, unstored_ratio
from spark_rollups.report.facts.servers import answered, api_error_ratio, certain_offset
from spark_rollups.report.facts.sizing import (
    UNUSED_RATIO,
    reserved_unused,
)
from spark_rollups.report.facts.subject import Subject, subject_of
from spark_rollups.report.findings import codes
from spark_rollups.report.findings.finding import Evidence, Finding, Severity, found

UP_RATIO = 0.999  # three quarters of an hour a month
_CONFLICTS = (
    "10071",
    "10070",
    "10164",
)  # wrong expectations, which the alert judges by their share
_LEAST_RESERVED = 1 << 30  # below this nobody misses the room


def server_findings(facts: Facts) -> Iterator[Finding]:
    yield from _not_answering(facts)
    yield from _api_errors(facts)
    yield from _clients_cut(facts)
    yield from _clocks(facts)


def publishing_findings(facts: Facts, rejections: Sequence[Rejections]) -> Iterator[Finding]:
    yield from _unstored(facts)
    yield from _rejected(facts, rejections)
    yield from _dedupe_memory(facts)
    yield from _reserved(facts)


def _not_answering(facts: Facts) -> Iterator[Finding]:
    now = facts.servers.now
    up, last_days = answered(facts), now.day(c.SERVER_UP, last=True)
    for place in np.flatnonzero(up < UP_RATIO).tolist():
        says = (
            f"Server {now.names[place][-1]} answered {words.share(float(up[place]))} of the polls since it was "
            f"first seen in the month{_gone(last_days[place], facts.as_of)}."
        )
        evidence = [Evidence("answered", float(up[place]), Kind.SHARE)]
        severity = Severity.WARNING if up[place] < 0.99 else Severity.NOTE
        yield found(
            codes.SERVER_DOWN, severity, subject_of(now, place), says, evidence, facts.as_of,
            weight=1 - float(up[place]),
        )  # fmt: skip


def _gone(last: date | None, as_of: date) -> str:
    return f"; it was last seen on {words.day(last)}" if last is not None and last < as_of else ""


def _api_errors(facts: Facts) -> Iterator[Finding]:
    now, ratio = facts.servers.now, api_error_ratio(facts)
    line = facts.value(t.API_ERROR_RATIO)
    for place in np.flatnonzero(ratio > line).tolist():
        errors = float(now.of(c.SERVER_API_ERRORS, Of.INCREASE)[place])
        says = (
            f"Server {now.names[place][-1]} answered {words.share(float(ratio[place]))} of the JetStream API "
            f"requests with an error ({words.count(errors)})."
        )
        evidence = [
            Evidence("errors", errors, Kind.COUNT),
            Evidence("share", float(ratio[place]), Kind.SHARE),
        ]
        yield found(
            codes.SERVER_API_ERRORS, Severity.WARNING, subject_of(now, place), says, evidence, facts.as_of,
            weight=float(ratio[place]),
        )  # fmt: skip


def _clients_cut(facts: Facts) -> Iterator[Finding]:
    now = facts.servers.now
    cut, before = (
        assets.of(c.SERVER_SLOW_CONSUMERS, Of.INCREASE) for assets in (now, facts.servers.before)
    )
    for place in np.flatnonzero(cut > 0).tolist():
        says = (
            f"Server {now.names[place][-1]} cut {words.plural(round(float(cut[place])), 'client connection')} "
            "that did not read fast enough."
        )
        evidence = [
            Evidence("cut", float(cut[place]), Kind.COUNT),
            Evidence("the month before", known(before[place]), Kind.COUNT),
        ]
        yield found(
            codes.CLIENTS_CUT, Severity.NOTE, subject_of(now, place), says, evidence, facts.as_of,
            weight=float(cut[place]),
        )  # fmt: skip


def _clocks(facts: Facts) -> Iterator[Finding]:
    now, offset = facts.servers.now, certain_offset(facts)
    for place in np.flatnonzero(offset > facts.value(t.CLOCK_OFFSET)).tolist():
        says = (
            f"The clock of server {now.names[place][-1]} was off by at least "
            f"{words.span(float(offset[place]))}."
        )
        evidence = [
            Evidence(
                name, known(now.of(c.SERVER_CLOCK_OFFSET_SECONDS, number)[place]), Kind.SECONDS
            )
            for name, number in (("lowest offset", Of.LOW), ("highest offset", Of.HIGH))
        ]
        yield found(
            codes.CLOCK_OFFSET, Severity.WARNING, subject_of(now, place), says, evidence, facts.as_of,
            weight=float(offset[place]),
        )  # fmt: skip


def _unstored(facts: Facts) -> Iterator[Finding]:
    """What a publish-ack tap counts as duplicates is harmless and is no finding."""
    now, ratio = facts.streams.now, unstored_ratio(facts.streams.now)
    unstored = now.of(c.STREAM_PUBLISHES_UNSTORED, Of.INCREASE)
    hits = now.of(c.STREAM_DEDUPE_HITS, Of.INCREASE)
    exact = now.of(c.STREAM_DEDUPE_EXACT, Of.LOW) >= 1
    unexplained = np.where(exact, np.maximum(unstored - np.nan_to_num(hits), 0.0), unstored)
    received = now.of(c.STREAM_PUBLISHES_RECEIVED, Of.INCREASE)
    line = facts.value(t.PUBLISH_UNSTORED_RATIO)
    for place in np.flatnonzero((ratio > line) & (unexplained > line * received)).tolist():
        doubt = "" if exact[place] else " How many of them were duplicates is unknown."
        says = (
            f"Stream {now.names[place][-1]} did not store {words.share(float(ratio[place]))} of what reached it: "
            f"{words.count(float(unstored[place]))} publishes.{doubt}"
        )
        evidence = [
            Evidence("not stored", float(unstored[place]), Kind.COUNT),
            Evidence("received", float(received[place]), Kind.COUNT),
            Evidence("duplicates", known(hits[place]), Kind.COUNT),
            Evidence("duplicates counted", "exact" if exact[place] else "at most"),
        ]
        severity = Severity.WARNING if exact[place] else Severity.NOTE
        yield found(
            codes.PUBLISHES_UNSTORED, severity, subject_of(now, place), says, evidence, facts.as_of,
            weight=float(ratio[place]),
        )  # fmt: skip


def _rejected(facts: Facts, rejections: Sequence[Rejections]) -> Iterator[Finding]:
    now = facts.streams.now
    stored = now.of(c.STREAM_STORED_MESSAGES, Of.INCREASE)
    places = {name: place for place, name in enumerate(now.names)}
    line = facts.value(t.PUBLISH_CONFLICT_RATIO)
    for each in rejections:
        kept = float(stored[places[each.name]]) if each.name in places else math.nan
        share = each.number / (each.number + kept) if kept + each.number > 0 else math.nan
        meaning = CODES.get(each.code, "see its meaning")
        says = (
            f"Stream {each.name[-1]} rejected {words.plural(round(each.number), 'publish', 'publishes')} with "
            f"{each.code} ({meaning})."
        )
        evidence = [
            Evidence("rejected", each.number, Kind.COUNT),
            Evidence("share of the publishes", known(share), Kind.SHARE),
        ]
        minor = each.code in _CONFLICTS and not share > line
        yield found(
            codes.PUBLISHES_REJECTED, Severity.NOTE if minor else Severity.WARNING,
            Subject(*each.name), says, evidence, facts.as_of, weight=each.number,
            values={"error_code": each.code},
        )  # fmt: skip


def _dedupe_memory(facts: Facts) -> Iterator[Finding]:
    now = facts.streams.now
    memory = dedupe_memory(facts, now)
    for place in np.flatnonzero(memory > facts.value(t.DEDUPE_MEMORY)).tolist():
        says = (
            f"The message ids of stream {now.names[place][-1]} took up to about "
            f"{words.bytes_text(float(memory[place]))} of memory on each replica."
        )
        evidence = [
            Evidence("ids", float(now.of(c.STREAM_DEDUPE_IDS, Of.HIGH)[place]), Kind.COUNT),
            Evidence(
                "window",
                known(now.of(c.STREAM_DUPLICATE_WINDOW_SECONDS, Of.LAST)[place]),
                Kind.SECONDS,
            ),
        ]
        yield found(
            codes.DEDUPE_MEMORY, Severity.WARNING, subject_of(now, place), says, evidence, facts.as_of,
            weight=float(memory[place]),
        )  # fmt: skip


def _reserved(facts: Facts) -> Iterator[Finding]:
    now = facts.streams.now
    limit, used = reserved_unused(facts)
    wasteful = (used < UNUSED_RATIO) & (limit * (1 - used) >= _LEAST_RESERVED)
    growing = {
        each.key[1:4] for each in facts.forecasts if each.fills and each.limit_name == "bytes"
    }
    for place in np.flatnonzero(wasteful).tolist():
        if now.names[place] in growing:
            continue
        peak = float(limit[place] * used[place])
        says = (
            f"Stream {now.names[place][-1]} reserves {words.bytes_text(float(limit[place]))} and never used more "
            f"than {words.bytes_text(peak)} in the month."
        )
        evidence = [
            Evidence("reserved", float(limit[place]), Kind.BYTES),
            Evidence("peak", peak, Kind.BYTES),
        ]
        wanted = max(math.ceil(2 * peak / (1 << 30)), 1) * (1 << 30)
        yield found(
            codes.RESERVED_UNUSED, Severity.NOTE, subject_of(now, place), says, evidence, facts.as_of,
            weight=float(limit[place]) - peak, values={"max_bytes": wanted},
        )  # fmt: skip
