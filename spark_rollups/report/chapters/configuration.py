"""The chapters on configuration (failing checks) and right-sizing."""

from __future__ import annotations

import math

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
    Level,
)
from spark_rollups.report.facts.assets import CONSUMER, STREAM, Name, divided
from spark_rollups.report.facts.events import FailingCheck, failing_consumer_checks
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.sizing import (
    UNUSED_RATIO,
    Sizing,
    reserved_unused,
)
from spark_rollups.report.model import Chapter, Column, Row, Table, sorted_rows
from spark_rollups.report.table_rows import by_column, identity, rows_of

_LEVELS = {"crit": Level.CRITICAL, "warn": Level.WARNING}


def configuration_chapter(facts: Facts, checks: list[FailingCheck]) -> Chapter:
    consumers = failing_consumer_checks(facts)
    tables = [_table(checks)]
    if consumers:
        tables.append(_consumer_table(consumers))
    return Chapter("configuration", "Configuration", (_sentence(checks),), tuple(tables))


def _sentence(checks: list[FailingCheck]) -> str:
    if not checks:
        return (
            "Unknown: no audit result was recorded in this month. The command streamgauge audit checks the "
            "servers directly."
        )
    states = {
        state: sum(each.state == state for each in checks) for state in ("open", "new", "fixed")
    }
    return (
        f"{fmt.plural(len({each.check for each in checks}), 'check')} of the audit failed: "
        f"{states['new']} findings are new, {states['open']} were there before, {states['fixed']} are "
        "fixed."
    )


def _table(checks: list[FailingCheck]) -> Table:
    rows = [
        Row(
            (*each.name, each.check, each.severity, each.assets, each.state, each.since),
            _level(each),
        )
        for each in checks
    ]
    return Table(
        "configuration",
        "Failing checks by stream",
        identity(STREAM),
        (
            Column("check", "Check"),
            Column("severity", "Severity"),
            Column(
                "assets", "Assets", Kind.COUNT, "the stream and those of its consumers that fail"
            ),
            Column("state", "State", hint="new in this month, open since before, or fixed"),
            Column("since", "Since", Kind.DAY, "first day in this month"),
        ),
        rows,
        empty="Unknown: no audit result was recorded.",
    )


def _level(each: FailingCheck) -> Level:
    return Level.NORMAL if each.state == "fixed" else _LEVELS.get(each.severity, Level.NORMAL)


def _consumer_table(found: list[tuple[Name, str, str]]) -> Table:
    return Table(
        "configuration_consumers",
        "Failing checks by consumer",
        identity(CONSUMER),
        (Column("check", "Check"), Column("severity", "Severity")),
        [Row((*name, check, severity), _LEVELS.get(severity, Level.NORMAL))
         for name, check, severity in found],
    )  # fmt: skip


def sizing_chapter(facts: Facts, sizing: Sizing) -> Chapter:
    sentences = [
        "A limit far above the peak protects from nothing; a limit that is always reached slows work down.",
    ]
    if not (~np.isnan(sizing.slow_ack)).any():
        sentences.append(
            "The time to acknowledge is unknown: no consumer has sample_freq set, or ack samples are not received."
        )
    return Chapter(
        "right-sizing",
        "Right-sizing",
        tuple(sentences),
        (_right_consumer_table(facts, sizing), _stream_table(facts)),
    )


def _right_consumer_table(facts: Facts, sizing: Sizing) -> Table:
    now = facts.consumers.now
    known = now.seen & ~(np.isnan(sizing.peak) & np.isnan(sizing.slow_ack))
    usual = now.mean(c.CONSUMER_NUM_ACK_PENDING)
    beyond = [
        "beyond the largest bucket" if math.isinf(value) else value
        for value in sizing.slow_ack.tolist()
    ]
    share = np.where(np.isinf(sizing.ack_share), np.nan, sizing.ack_share)
    columns = (
        sizing.peak, usual, sizing.limit, sizing.used, beyond, sizing.ack_wait, share, sizing.wasted,
        divided(sizing.wasted, now.increase(c.CONSUMER_DELIVERIES)),
    )  # fmt: skip
    rows = rows_of(now, known, columns)
    return Table(
        "sizing_consumers",
        "Consumers: unacknowledged messages, time to ack, redeliveries",
        identity(now.labels),
        (
            Column("ack_pending_peak", "Peak ack pending", Kind.COUNT, "highest num_ack_pending"),
            Column("ack_pending_mean", "Mean", Kind.COUNT, shown=False),
            Column("max_ack_pending", "Limit", Kind.COUNT, "max_ack_pending"),
            Column("ack_pending_used", "Used", Kind.SHARE, "peak as a share of the limit",
                   line=facts.threshold(t.ACK_PENDING_RATIO)),
            Column("ack_seconds_p99", "Slow acks", Kind.SECONDS, "99th percentile"),
            Column("ack_wait_seconds", "Ack wait", Kind.SECONDS),
            Column("ack_wait_used", "Used", Kind.SHARE, "slow acks as a share of ack_wait",
                   line=facts.threshold(t.ACK_WAIT_RATIO)),
            Column("wasted", "Redeliveries", Kind.COUNT),
            Column("wasted_ratio", "Share", Kind.SHARE, line=facts.threshold(t.REDELIVERY_RATIO)),
        ),
        sorted_rows(rows, by_column(len(now.labels) + 3)),
        note="Highest use first.",
        empty="No consumer was seen in this month.",
    )  # fmt: skip


def _stream_table(facts: Facts) -> Table:
    now = facts.streams.now
    limit, used = reserved_unused(facts)
    rows = rows_of(
        now,
        ~np.isnan(used),
        (
            now.highest(c.STREAM_BYTES),
            limit,
            used,
            np.maximum(limit * (1 - used), 0.0),
        ),
    )
    return Table(
        "sizing_streams",
        "Streams: reserved storage",
        identity(now.labels),
        (
            Column("bytes_peak", "Peak size", Kind.BYTES),
            Column("max_bytes", "Limit", Kind.BYTES, "max_bytes, reserved on the server"),
            Column(
                "used",
                "Used",
                Kind.SHARE,
                "peak as a share of the limit",
                line=UNUSED_RATIO,
                falling=True,
            ),
            Column("unused_bytes", "Never used", Kind.BYTES, "of one replica"),
        ),
        sorted_rows(rows, by_column(len(now.labels) + 3)),
        note="Largest share first.",
        empty="No stream has max_bytes.",
    )
