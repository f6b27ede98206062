"""Tables of the fleet board: consumers, streams and servers."""

from __future__ import annotations

from dataclasses import replace

from alerts import thresholds as t
from dashboards import external_metrics
from dashboards.panels import fullness
from dashboards.panels.colours import (
    ANY,
    HEALTH_MAPPING,
    STATE_MAPPING,
    UP_MAPPING,
    rising,
)
from dashboards.panels.conditions import (
    LEVEL_MAPPING,
    consumer_level,
    gravest,
    runbooks,
    state,
)
from dashboards.panels.limits import Limits
from dashboards.panels.model import Column, Guide, Table, Target
from dashboards.panels.variables import discard_new, discard_old
from dashboards.queries import Scope
from exporter import catalog as c
from streamgauge.promql.expression import Expression

_ROWS = 100
_GRAVEST = 50
_MILLISECONDS = 1000
# Any lag: unwell consumers come before those that only lag.
_FAR_ABOVE = 10**12


def conditions(scope: Scope) -> Table:
    level, since = gravest(scope, _GRAVEST)
    return Table(
        title="What is wrong",
        guide=Guide(
            "Every condition of a consumer, a stream or a server that is true now, and since when; "
            f"at most {_GRAVEST}, the gravest first, then the oldest. The level is the severity of "
            "its alert; owners may have set another.",
            "Any line but a note.",
            "Open the runbook, or the board of the consumer, the stream or the server.",
        ),
        identity=("condition", "runbook", "stream", "consumer", "server", "account", "system"),
        columns=(
            Column("Level", level, "none", mapping=LEVEL_MAPPING),
            Column("Since", since * _MILLISECONDS, "dateTimeFromNow"),
        ),
        sort_by="Level",
        links=(Target.CONSUMER, Target.STREAM, Target.SERVERS),
        runbooks=runbooks(),
        no_value="nothing",
        height=8,
    )


def _selected(scope: Scope) -> Expression:
    """The consumers of the table: first the unwell ones, the gravest first, then those that lag most."""
    lag = scope.now(external_metrics.LAG_OF_WORST)
    return (consumer_level(scope) * _FAR_ABOVE).or_(lag).top(_ROWS)


def _level_or_ok(scope: Scope) -> Expression:
    return consumer_level(scope).or_(0 * scope.now(c.CONSUMER_UP))


def _only_of(chosen: Expression, *columns: Column) -> tuple[Column, ...]:
    return tuple(replace(each, expr=each.expr.where(chosen)) for each in columns)


def consumers(scope: Scope, limits: Limits) -> Table:
    need = _selected(scope)

    return Table(
        title="Consumers",
        guide=Guide(
            f"At most {_ROWS} consumers: those with a condition, then those that lag most; the gravest first.",
            "A verdict in red or orange; lost messages; abandoned messages.",
            "Click the name of the consumer: its board shows the cause.",
        ),
        identity=c.CONSUMER,
        columns=_only_of(
            need,
            Column("Verdict", state(scope), "none", mapping=STATE_MAPPING),
            Column("Lag", scope.now(c.CONSUMER_LAG_SECONDS), "s"),
            Column("Pending", scope.now(c.CONSUMER_NUM_PENDING)),
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
            Column("Level", _level_or_ok(scope), "none", mapping=LEVEL_MAPPING),
        ),
        sort_by="Level",
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
            "Full with discard new; a replica offline; a last publish long ago where publishers "
            "should publish. Streams with discard old are full by design.",
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
                "Full, discard new",
                fill.where(discard_new(scope)),
                "percentunit",
                steps=full,
                bar=True,
            ),
            Column("Full, discard old", fill.where(discard_old(scope)), "percentunit", bar=True),
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
    labels = ("version", "cluster")
    return Table(
        title="Servers",
        guide=Guide(
            "One line per server: version, health and load.",
            "Down or unhealthy; an unplanned restart; disconnected slow clients.",
            "Check the log of that server.",
        ),
        identity=c.SERVER,
        shown_labels=labels,
        columns=(
            Column("", scope.info(c.SERVER_INFO, *labels)),
            Column("Up", scope.now(c.SERVER_UP), "none", mapping=UP_MAPPING),
            Column("Health", scope.now(c.SERVER_HEALTHY), "none", mapping=HEALTH_MAPPING),
            Column("Started", scope.age(c.SERVER_START_TIMESTAMP_SECONDS), "s"),
            Column("CPU", scope.now(c.SERVER_CPU_RATIO), "percentunit"),
            Column("Memory", scope.now(c.SERVER_PROCESS_MEMORY_BYTES), "bytes"),
            Column("Files", fullness.of_server_files(scope), "percentunit",
                   fullness.server_steps(limits), bar=True),
            Column("Stream leaders", scope.now(c.SERVER_STREAM_LEADERS)),
            Column("Consumer leaders", scope.now(c.SERVER_CONSUMER_LEADERS)),
            Column("API in flight", scope.now(c.SERVER_API_INFLIGHT)),
            Column("Slow clients", scope.increase(c.SERVER_SLOW_CONSUMERS),
                   steps=rising(warn=ANY)),
        ),
        sort_by="Server",
        ascending=True,
        height=7,
    )  # fmt: skip
