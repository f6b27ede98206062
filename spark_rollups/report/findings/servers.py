"""Findings about servers, clocks, publishes and reserved storage."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.facts.assets import Statistic, Subject, known, subject_of
from spark_rollups.report.facts.events import CODES, Rejections, dedupe_memory, unstored_ratio
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.servers import api_error_ratio, certain_offset, response_ratio
from spark_rollups.report.facts.sizing import (
    UNUSED_RATIO,
    reserved_unused,
)
from spark_rollups.report.findings import codes
from spark_rollups.report.findings.finding import Evidence, Finding, Severity, make_finding

UP_RATIO = 0.999  # 45 minutes per month
_CONFLICTS = (
    "10071",
    "10070",
    "10164",
)  # conflicts of expected sequences; judged by their share, like the alert
_LEAST_RESERVED = 1 << 30  # smaller reservations are no finding


def server_findings(facts: Facts) -> Iterator[Finding]:
    yield from _not_responding(facts)
    yield from _api_errors(facts)
    yield from _clients_cut(facts)
    yield from _clocks(facts)


def publishing_findings(facts: Facts, rejections: Sequence[Rejections]) -> Iterator[Finding]:
    yield from _unstored(facts)
    yield from _rejected(facts, rejections)
    yield from _dedupe_memory(facts)
    yield from _reserved(facts)


def _not_responding(facts: Facts) -> Iterator[Finding]:
    now = facts.servers.now
    up, last_days = response_ratio(facts), now.day(c.SERVER_UP, last=True)
    for index in np.flatnonzero(up < UP_RATIO).tolist():
        summary = (
            f"Server {now.names[index][-1]} responded to {fmt.share(float(up[index]))} of the polls since it was "
            f"first seen in the month{_gone(last_days[index], facts.as_of)}."
        )
        evidence = [Evidence("responses", float(up[index]), Kind.SHARE)]
        severity = Severity.WARNING if up[index] < 0.99 else Severity.NOTE
        yield make_finding(
            codes.SERVER_NOT_RESPONDING, severity, subject_of(now, index), summary, evidence, facts.as_of,
            weight=1 - float(up[index]),
        )  # fmt: skip


def _gone(last: date | None, as_of: date) -> str:
    return f"; it was last seen on {fmt.day(last)}" if last is not None and last < as_of else ""


def _api_errors(facts: Facts) -> Iterator[Finding]:
    now, ratio = facts.servers.now, api_error_ratio(facts)
    line = facts.threshold(t.API_ERROR_RATIO)
    for index in np.flatnonzero(ratio > line).tolist():
        errors = float(now.column(c.SERVER_API_ERRORS, Statistic.INCREASE)[index])
        summary = (
            f"Server {now.names[index][-1]} rejected {fmt.share(float(ratio[index]))} of the JetStream API "
            f"requests with an error ({fmt.count(errors)})."
        )
        evidence = [
            Evidence("errors", errors, Kind.COUNT),
            Evidence("share", float(ratio[index]), Kind.SHARE),
        ]
        yield make_finding(
            codes.SERVER_API_ERRORS, Severity.WARNING, subject_of(now, index), summary, evidence, facts.as_of,
            weight=float(ratio[index]),
        )  # fmt: skip


def _clients_cut(facts: Facts) -> Iterator[Finding]:
    now = facts.servers.now
    cut, before = (
        assets.column(c.SERVER_SLOW_CONSUMERS, Statistic.INCREASE)
        for assets in (now, facts.servers.before)
    )
    for index in np.flatnonzero(cut > 0).tolist():
        summary = (
            f"Server {now.names[index][-1]} closed {fmt.plural(round(float(cut[index])), 'client connection')} "
            "that did not read fast enough."
        )
        evidence = [
            Evidence("closed", float(cut[index]), Kind.COUNT),
            Evidence("the month before", known(before[index]), Kind.COUNT),
        ]
        yield make_finding(
            codes.CLIENTS_CUT, Severity.NOTE, subject_of(now, index), summary, evidence, facts.as_of,
            weight=float(cut[index]),
        )  # fmt: skip


def _clocks(facts: Facts) -> Iterator[Finding]:
    now, offset = facts.servers.now, certain_offset(facts)
    for index in np.flatnonzero(offset > facts.threshold(t.CLOCK_OFFSET)).tolist():
        summary = (
            f"The clock of server {now.names[index][-1]} was off by at least "
            f"{fmt.span(float(offset[index]))}."
        )
        evidence = [
            Evidence(
                name, known(now.column(c.SERVER_CLOCK_OFFSET_SECONDS, number)[index]), Kind.SECONDS
            )
            for name, number in (
                ("lowest offset", Statistic.MIN),
                ("highest offset", Statistic.MAX),
            )
        ]
        yield make_finding(
            codes.CLOCK_OFFSET, Severity.WARNING, subject_of(now, index), summary, evidence, facts.as_of,
            weight=float(offset[index]),
        )  # fmt: skip


def _unstored(facts: Facts) -> Iterator[Finding]:
    """Duplicates counted by the publish-ack tap are harmless and no finding."""
    now, ratio = facts.streams.now, unstored_ratio(facts.streams.now)
    unstored = now.column(c.STREAM_PUBLISHES_UNSTORED, Statistic.INCREASE)
    hits = now.column(c.STREAM_DEDUPE_HITS, Statistic.INCREASE)
    exact = now.column(c.STREAM_DEDUPE_EXACT, Statistic.MIN) >= 1
    unexplained = np.where(exact, np.maximum(unstored - np.nan_to_num(hits), 0.0), unstored)
    received = now.column(c.STREAM_PUBLISHES_RECEIVED, Statistic.INCREASE)
    line = facts.threshold(t.PUBLISH_UNSTORED_RATIO)
    for index in np.flatnonzero((ratio > line) & (unexplained > line * received)).tolist():
        doubt = "" if exact[index] else " How many of them were duplicates is unknown."
        summary = (
            f"Stream {now.names[index][-1]} did not store {fmt.share(float(ratio[index]))} of its publishes: "
            f"{fmt.count(float(unstored[index]))} publishes.{doubt}"
        )
        evidence = [
            Evidence("not stored", float(unstored[index]), Kind.COUNT),
            Evidence("received", float(received[index]), Kind.COUNT),
            Evidence("duplicates", known(hits[index]), Kind.COUNT),
            Evidence("duplicates counted", "exact" if exact[index] else "at most"),
        ]
        severity = Severity.WARNING if exact[index] else Severity.NOTE
        yield make_finding(
            codes.PUBLISHES_UNSTORED, severity, subject_of(now, index), summary, evidence, facts.as_of,
            weight=float(ratio[index]),
        )  # fmt: skip


def _rejected(facts: Facts, rejections: Sequence[Rejections]) -> Iterator[Finding]:
    now = facts.streams.now
    stored = now.column(c.STREAM_STORED_MESSAGES, Statistic.INCREASE)
    indexes = {name: index for index, name in enumerate(now.names)}
    line = facts.threshold(t.PUBLISH_CONFLICT_RATIO)
    for each in rejections:
        cached = float(stored[indexes[each.name]]) if each.name in indexes else math.nan
        share = each.number / (each.number + cached) if cached + each.number > 0 else math.nan
        meaning = CODES.get(each.code, "unknown code")
        summary = (
            f"Stream {each.name[-1]} rejected {fmt.plural(round(each.number), 'publish', 'publishes')} with "
            f"{each.code} ({meaning})."
        )
        evidence = [
            Evidence("rejected", each.number, Kind.COUNT),
            Evidence("share of the publishes", known(share), Kind.SHARE),
        ]
        minor = each.code in _CONFLICTS and not share > line
        yield make_finding(
            codes.PUBLISHES_REJECTED, Severity.NOTE if minor else Severity.WARNING,
            Subject(*each.name), summary, evidence, facts.as_of, weight=each.number,
            values={"error_code": each.code},
        )  # fmt: skip


def _dedupe_memory(facts: Facts) -> Iterator[Finding]:
    now = facts.streams.now
    memory = dedupe_memory(facts, now)
    for index in np.flatnonzero(memory > facts.threshold(t.DEDUPE_MEMORY)).tolist():
        summary = (
            f"The message ids of stream {now.names[index][-1]} took up to about "
            f"{fmt.bytes_text(float(memory[index]))} of memory on each replica."
        )
        evidence = [
            Evidence(
                "ids",
                float(now.column(c.STREAM_DEDUPE_WINDOW_MESSAGES, Statistic.MAX)[index]),
                Kind.COUNT,
            ),
            Evidence(
                "window",
                known(now.column(c.STREAM_DUPLICATE_WINDOW_SECONDS, Statistic.LAST)[index]),
                Kind.SECONDS,
            ),
        ]
        yield make_finding(
            codes.DEDUPE_MEMORY, Severity.WARNING, subject_of(now, index), summary, evidence, facts.as_of,
            weight=float(memory[index]),
        )  # fmt: skip


def _reserved(facts: Facts) -> Iterator[Finding]:
    now = facts.streams.now
    limit, used = reserved_unused(facts)
    wasteful = (used < UNUSED_RATIO) & (limit * (1 - used) >= _LEAST_RESERVED)
    growing = {
        each.key[1:4] for each in facts.forecasts if each.fills and each.limit_name == "bytes"
    }
    for index in np.flatnonzero(wasteful).tolist():
        if now.names[index] in growing:
            continue
        peak = float(limit[index] * used[index])
        summary = (
            f"Stream {now.names[index][-1]} reserves {fmt.bytes_text(float(limit[index]))} and never used more "
            f"than {fmt.bytes_text(peak)} in the month."
        )
        evidence = [
            Evidence("reserved", float(limit[index]), Kind.BYTES),
            Evidence("peak", peak, Kind.BYTES),
        ]
        wanted = max(math.ceil(2 * peak / (1 << 30)), 1) * (1 << 30)
        yield make_finding(
            codes.RESERVED_UNUSED, Severity.NOTE, subject_of(now, index), summary, evidence, facts.as_of,
            weight=float(limit[index]) - peak, values={"max_bytes": wanted},
        )  # fmt: skip
