"""The two tables of the fleet board: every stream and every consumer in one line each."""

from __future__ import annotations

from dataclasses import replace

from alerts import thresholds as t
from dashboards.panels import fullness
from dashboards.panels.colours import (
    ANY,
    HEALTH_MAPPING,
    NOT_WELL,
    UP_MAPPING,
    VERDICT_MAPPING,
    rising,
)
from dashboards.panels.limits import Limits
from dashboards.panels.model import Column, Guide, Table, Target
from dashboards.panels.variables import dropping, refusing
from dashboards.queries import Scope
from exporter import catalog as c
from streamgauge.promql.expression import Expression

_ROWS = 100
# Far above any lag: whoever is unwell stands before whoever is only behind.
_UNWELL_FIRST = 1e12


def most_in_need(scope: Scope) -> Expression:
    """The consumers that a table shows: first the unwell ones, then those most behind."""
    verdict = scope.now(c.CONSUMER_VERDICT)
    lag = scope.now(c.CONSUMER_LAG_SECONDS).or_(verdict * 0)
    return (verdict.is_at_least(NOT_WELL) * _UNWELL_FIRST + lag).top(_ROWS)


def _only_of(chosen: Expression, *columns: Column) -> tuple[Column, ...]:
    return tuple(replace(each, expr=each.expr.where(chosen)) for each in columns)


def consumers(scope: Scope, limits: Limits) -> Table:
    need = most_in_need(scope)

    return Table(
        title="Consumers",
        guide=Guide(
            f"One line per consumer, the {_ROWS} most in need: unwell ones first, then by lag.",
            "A verdict in red or orange; losses; abandoned messages, which nobody gets again.",
            "Click the consumer's name: its board tells why, in the order of the verdicts.",
        ),
        identity=c.CONSUMER,
        columns=_only_of(
            need,
            Column("Verdict", scope.now(c.CONSUMER_VERDICT), "none", mapping=VERDICT_MAPPING),
            Column("Lag", scope.now(c.CONSUMER_LAG_SECONDS), "s"),
            Column("Pending", scope.now(c.CONSUMER_NUM_PENDING)),
            Column("Unacked", scope.now(c.CONSUMER_NUM_ACK_PENDING)),
            Column(
                "Above floor",
                scope.now(c.CONSUMER_ACK_FLOOR_GAP_DELIVERIES),
                steps=rising(warn=limits.of(t.ACK_FLOOR_GAP_DELIVERIES)),
            ),
            Column(
                "Stalled",
                scope.now(c.CONSUMER_STALLED_SECONDS),
                "s",
                steps=rising(bad=limits.of(t.CONSUMER_STALLED)),
            ),
            Column(
                "Redelivery",
                scope.now(c.CONSUMER_REDELIVERY_RATIO),
                "percentunit",
                steps=rising(bad=limits.of(t.REDELIVERY_RATIO)),
            ),
            Column(
                "Lost",
                scope.increase(c.CONSUMER_LOST_MESSAGES),
                steps=rising(bad=ANY),
            ),
            Column(
                "Abandoned",
                scope.now(c.CONSUMER_EXHAUSTED_MESSAGES),
                steps=rising(warn=ANY),
            ),
        ),
        sort_by="Verdict",
        links=(Target.CONSUMER, Target.STREAM),
        height=12,
    )


def streams(scope: Scope, limits: Limits) -> Table:
    largest = scope.now(c.STREAM_BYTES).top(_ROWS)

    fill = fullness.of_stream(scope).max_by(*c.STREAM)
    full = fullness.stream_steps(limits)
    return Table(
        title="Streams",
        guide=Guide(
            f"One line per stream, the {_ROWS} largest ones.",
            "Full and it refuses new messages; a replica offline; a last publish long ago where "
            "publishers should be at work. Streams that drop old messages are full by design.",
            "Click the stream's name for its history, its consumers and its replicas.",
        ),
        identity=c.STREAM,
        shown_labels=("leader",),
        columns=_only_of(
            largest,
            Column("", scope.info(c.STREAM_INFO, "leader")),
            Column("Messages", scope.now(c.STREAM_MESSAGES)),
            Column("Size", scope.now(c.STREAM_BYTES), "bytes"),
            Column("Stored/s", scope.rate(c.STREAM_STORED_MESSAGES), "mps"),
            Column(
                "Full, refuses new",
                fill.where(refusing(scope)),
                "percentunit",
                steps=full,
                bar=True,
            ),
            Column("Full, drops old", fill.where(dropping(scope)), "percentunit", bar=True),
            Column("Consumers", scope.now(c.STREAM_CONSUMERS)),
            Column(
                "Replicas offline",
                scope.now(c.STREAM_REPLICA_OFFLINE).sum_by(*c.STREAM),
                steps=rising(bad=ANY),
            ),
            Column("Oldest", scope.age(c.STREAM_FIRST_TIMESTAMP_SECONDS), "s"),
            Column("Last publish", scope.age(c.STREAM_LAST_TIMESTAMP_SECONDS), "s"),
        ),
        sort_by="Size",
        links=(Target.STREAM,),
        height=10,
    )


def servers(scope: Scope, limits: Limits) -> Table:
    told = ("version", "cluster")
    return Table(
        title="Servers",
        guide=Guide(
            "One line per server: what it is, whether it is well, and what it carries.",
            "Down or not healthy; started lately without an order; slow clients were cut.",
            "Look at the log of that server.",
        ),
        identity=c.SERVER,
        shown_labels=told,
        columns=(
            Column("", scope.info(c.SERVER_INFO, *told)),
            Column("Answers", scope.now(c.SERVER_UP), "none", mapping=UP_MAPPING),
            Column("Health", scope.now(c.SERVER_HEALTHY), "none", mapping=HEALTH_MAPPING),
            Column("Started", scope.age(c.SERVER_START_TIMESTAMP_SECONDS), "s"),
            Column("Processor", scope.now(c.SERVER_CPU_RATIO), "percentunit"),
            Column("Memory", scope.now(c.SERVER_PROCESS_MEMORY_BYTES), "bytes"),
            Column("Files", fullness.of_server_files(scope), "percentunit",
                   fullness.server_steps(limits), bar=True),
            Column("Leads streams", scope.now(c.SERVER_STREAM_LEADERS)),
            Column("Leads consumers", scope.now(c.SERVER_CONSUMER_LEADERS)),
            Column("API waiting", scope.now(c.SERVER_API_INFLIGHT)),
            Column("Slow clients cut", scope.increase(c.SERVER_SLOW_CONSUMERS),
                   steps=rising(warn=ANY)),
        ),
        sort_by="Server",
        ascending=True,
        height=7,
    )  # fmt: skip
