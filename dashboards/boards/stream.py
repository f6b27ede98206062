"""Board of one stream: size, flow, consumers, replicas."""

from __future__ import annotations

from functools import partial

from dashboards.boards import stream_details
from dashboards.panels import conditions, event_annotations, fullness, shared, variables
from dashboards.panels.colours import ANY, BAD, INFO, STATE_MAPPING, WARN, plain, rising
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    Board,
    Guide,
    Link,
    Override,
    Panel,
    Query,
    Row,
    Stat,
    StateTimeline,
    Target,
    TimeSeries,
    Within,
)
from dashboards.panels.tiles import leading, tile
from dashboards.panels.variables import (
    CONSUMER_OF_STREAM,
    discard_new,
    discard_old,
)
from dashboards.queries import RATE_WINDOW
from exporter import catalog as c
from exporter.metric import Metric
from streamgauge.promql.expression import Expression

VARIABLES = (
    variables.JOB,
    variables.CLUSTER,
    variables.SYSTEM,
    variables.ACCOUNT,
    variables.ONE_STREAM,
)
_q = variables.scope_of(*VARIABLES)
_FEW = 10
_NAME = "{{stream}}"
_stat = partial(tile, legend=_NAME)
_WEEK_AHEAD = {"horizon": "7d", "quantile": "0.5"}
_LEADS: dict[str, Link] = {
    "Leader": Within("Leader over time"),
    "Messages": Within("Messages over time"),
    "Size": Within("Size over time"),
    "Full, discard new": Target.CAPACITY,
    "Full, discard old": Within("Lag per consumer"),
    "Last publish": Target.PUBLISH,
    "Replicas offline": Within("Replicas online"),
    "Damaged": Within("Events of the stream"),
    "Oldest message": Within("Lag per consumer"),
    "Consumers": Within("Pending per consumer"),
    "Ephemeral consumers": Within("Pending per consumer"),
    "Subjects": Within("Settings"),
    "Deleted messages": Within("Settings"),
    "Duplicate window": Target.PUBLISH,
}


def board(limits: Limits) -> Board:
    return Board(
        key="stream",
        title="Stream",
        description="One stream: contents, flow, consumers, replicas, sources.",
        variables=VARIABLES,
        rows=(
            Row("Now", leading(_stats(limits), _LEADS)),
            Row("What is wrong with it?", (_conditions(),)),
            Row("Flow", _flow()),
            Row("Consumers", _consumers()),
            Row("What happened to it?", stream_details.events(_q)),
            Row("Replicas", stream_details.replicas(_q, limits)),
            Row("Mirror and sources", stream_details.sources(_q, limits), collapsed=True),
            Row("Configuration", stream_details.configuration(_q), collapsed=True),
            Row("Findings of the audit", stream_details.findings(_q), collapsed=True),
        ),
        annotations=(
            *event_annotations.stream_events(_q),
            event_annotations.consumer_recreations(_q),
            event_annotations.server_restarts(_q),
            event_annotations.firing_alerts(_q),
        ),
    )


def _conditions() -> StateTimeline:
    start = c.STREAM_CONDITION_START_TIMESTAMP_SECONDS
    return shared.held_conditions(_q, start, "{{stream}}")


# --- now ------------------------------------------------------------------------------------------


def _stats(limits: Limits) -> tuple[Panel, ...]:
    fill = fullness.of_stream(_q).max_by(*c.STREAM)
    return (
        _stat(
            "Leader", _q.info(c.STREAM_INFO, "leader"), "none",
            Guide("The server that leads the stream. Empty on a server that is not clustered.",
                  "No data: the stream has no leader, or is unknown.",
                  "Bring its servers back; more than half of the replicas must be up."),
            legend="{{leader}}", show_label="leader",
        ),
        _stat(
            "Messages", _q.now(c.STREAM_MESSAGES), "short",
            Guide("Messages in the stream now.",
                  "A sudden fall: a purge, or messages expire.",
                  "The annotations show purges, restores and recreations."),
        ),
        _stat(
            "Size", _q.now(c.STREAM_BYTES), "bytes",
            Guide("Size of its messages, without replicas.",
                  "It nears the limit of a stream with discard new.",
                  "Capacity and forecast shows the date."),
        ),
        _stat(
            "Full, discard new", fill.where(discard_new(_q)), "percentunit",
            Guide("Share of its limit of bytes or messages in use, on a stream with discard new.",
                  "Near 100 %: publishes are rejected.",
                  "Raise the limit, or find the consumer that holds messages."),
            steps=fullness.stream_steps(limits), no_value="discard old",
        ),
        _stat(
            "Full, discard old", fill.where(discard_old(_q)), "percentunit",
            Guide("Share of its limit of bytes or messages in use, on a stream with discard old.",
                  "It is full by design; bad only for consumers that are too slow.",
                  "See the row Consumers: a lag as old as the oldest message means loss."),
            no_value="discard new",
        ),
        _stat(
            "Last publish", _q.age(c.STREAM_LAST_TIMESTAMP_SECONDS), "s",
            Guide("Time since the newest message was stored.",
                  "Longer than its publishers are ever idle.",
                  "Check the publishers, then Publishing and dedupe for rejections."),
        ),
        *_damages(),
        *_counts(),
    )  # fmt: skip


def _damages() -> tuple[Panel, ...]:
    return (
        _stat(
            "Replicas offline", _q.now(c.STREAM_REPLICA_OFFLINE).sum_by(*c.STREAM), "short",
            Guide("Replicas that the leader reports as offline. No data on unreplicated streams.",
                  "Anything above 0: one more may cost the quorum.",
                  "See the row Replicas for which one; bring that server back."),
            steps=rising(bad=ANY), no_value="one replica",
        ),
        _stat(
            "Damaged", _q.now(c.STREAM_LOST_MESSAGES), "short",
            Guide("Messages that the server reports as damaged or missing in its store.",
                  "Anything above 0: data is lost.",
                  "Check the disk of the leader; restore from a replica or a backup."),
            steps=rising(bad=ANY), no_value="none reported",
        ),
    )  # fmt: skip


def _counts() -> tuple[Panel, ...]:
    counts: tuple[tuple[str, Expression, str, str], ...] = (
        ("Oldest message", _q.age(c.STREAM_FIRST_TIMESTAMP_SECONDS),
         "Age of the oldest message.",
         "Old on a work queue: a message is never acknowledged."),
        ("Consumers", _q.now(c.STREAM_CONSUMERS),
         "Consumers by the count of the server, with ephemeral ones.",
         "0 on an interest stream: publishes are acknowledged and not stored."),
        ("Ephemeral consumers", _q.now(c.STREAM_EPHEMERAL_CONSUMERS),
         "Consumers without a durable name.",
         "A number that only rises: clients create and never delete them."),
        ("Subjects", _q.now(c.STREAM_SUBJECTS),
         "Distinct subjects among its messages.",
         "Millions: the index takes memory, and filtered consumers slow down."),
        ("Deleted messages", _q.now(c.STREAM_DELETED_MESSAGES),
         "Messages removed between the first and the last one.",
         "Millions: they cost memory and slow a restart."),
        ("Duplicate window", _q.now(c.STREAM_DUPLICATE_WINDOW_SECONDS),
         "Time in which the server drops a second publish with the same id.",
         "Shorter than publishers retry: duplicates are stored."),
    )  # fmt: skip
    return tuple(_count(*each) for each in counts)


def _count(title: str, expr: Expression, means: str, bad: str) -> Stat:
    return Stat(
        title=title,
        guide=Guide(means, bad, "See the rows Configuration and Findings of the audit."),
        queries=(Query(expr, _NAME),),
        unit="s" if title in ("Duplicate window", "Oldest message") else "short",
        steps=plain(),
        no_value="–",
        width=8,
    )


# --- flow -----------------------------------------------------------------------------------------


def _flow() -> tuple[Panel, ...]:
    stored = _q.rate(c.STREAM_STORED_MESSAGES)
    removed = (stored - _q.growth(c.STREAM_MESSAGES, RATE_WINDOW)).clamp_min(0)
    return (
        TimeSeries(
            title="Stored and removed",
            guide=Guide(
                "Messages stored per second, and removed per second by acks, limits or purges "
                "(stored minus growth).",
                "Stored at 0 while publishers work; removed far above stored: it drains.",
                "Publishing and dedupe shows whether publishes arrive and are rejected.",
            ),
            queries=(Query(stored, f"stored {_NAME}"), Query(removed, f"removed {_NAME}")),
            unit="mps",
            overrides=(Override("/^stored/", INFO), Override("/^removed/", WARN)),
            links=(Target.PUBLISH,),
        ),
        TimeSeries(
            title="Publishes received",
            guide=Guide(
                "Publishes that reached the stream per second, stored and not stored; means of five "
                "minutes.",
                "Not stored above 0: duplicates, or publishes that were rejected.",
                "Publishing and dedupe shows which.",
            ),
            queries=(
                Query(_q.steady_rate(c.STREAM_PUBLISHES_RECEIVED), f"received {_NAME}"),
                Query(_q.steady_rate(c.STREAM_PUBLISHES_UNSTORED), f"not stored {_NAME}"),
            ),
            unit="mps",
            overrides=(Override("/^received/", INFO), Override("/^not stored/", BAD)),
            links=(Target.PUBLISH,),
        ),
        _against_limit(
            "Messages over time", "short", c.STREAM_MESSAGES, c.STREAM_MAX_MESSAGES,
            _q.now(c.FORECAST_STREAM_MESSAGES, **_WEEK_AHEAD).max_by(*c.STREAM),
        ),
        _against_limit(
            "Size over time", "bytes", c.STREAM_BYTES, c.STREAM_MAX_BYTES,
            _q.now(c.FORECAST_STREAM_BYTES, **_WEEK_AHEAD).max_by(*c.STREAM),
        ),
    )  # fmt: skip


def _against_limit(
    title: str, unit: str, used: Metric, limit: Metric, expected: Expression
) -> TimeSeries:
    return TimeSeries(
        title=title,
        guide=Guide(
            "The stream now, its limit (dashed), and the forecast of the rollups for a week.",
            "The line or the forecast meets the limit.",
            "Raise the limit in time; Capacity and forecast gives the date.",
        ),
        queries=(
            Query(_q.now(used), f"now {_NAME}"),
            Query(_q.now(limit), f"limit {_NAME}"),
            Query(expected, f"expected in 7 d {_NAME}"),
        ),
        unit=unit,
        overrides=(
            Override("/^limit/", BAD, dashed=True),
            Override("/^expected/", WARN, dashed=True),
        ),
        links=(Target.CAPACITY,),
    )


# --- consumers ------------------------------------------------------------------------------------


def _consumers() -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Pending per consumer",
            guide=Guide(
                f"Messages not delivered to each consumer yet; the {_FEW} with most.",
                "A line that only rises.",
                "Click it and open the consumer.",
            ),
            queries=(Query(_q.highest(c.CONSUMER_NUM_PENDING, _FEW), CONSUMER_OF_STREAM),),
            width=8,
            links=(Target.CONSUMER,),
        ),
        TimeSeries(
            title="Lag per consumer",
            guide=Guide(
                f"Age of the oldest unacknowledged message of each consumer; the {_FEW} worst.",
                "A line that only rises, or nears the max_age of the stream.",
                "Click it and open the consumer.",
            ),
            queries=(Query(_q.highest(c.CONSUMER_LAG_SECONDS, _FEW), CONSUMER_OF_STREAM),),
            unit="s",
            width=8,
            links=(Target.CONSUMER,),
        ),
        StateTimeline(
            title="Verdict per consumer",
            guide=Guide(
                "Verdict of each consumer, or that a condition or ticket holds; at most 15, the "
                "longest unhealthy first.",
                "Red: messages are or will be lost, or nothing moves. Orange: it needs attention.",
                "Click a bar and open the consumer.",
            ),
            queries=(Query(conditions.unhealthy_longest(_q, 15), CONSUMER_OF_STREAM),),
            mapping=STATE_MAPPING,
            width=8,
            links=(Target.CONSUMER,),
        ),
    )
