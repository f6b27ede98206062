"""Board of one consumer: why is it stuck? Rows in the order of the verdicts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from alerts import thresholds as t
from dashboards.boards import consumer_configuration, consumer_details
from dashboards.panels import conditions, event_annotations, shared, variables
from dashboards.panels.colours import (
    BAD,
    INFO,
    LAG_MAPPING,
    OK,
    PAUSED,
    STATE_MAPPING,
    WARN,
    MappedValue,
    ValueMapping,
    rising,
)
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    Board,
    Guide,
    Override,
    Panel,
    Query,
    Row,
    Stat,
    StateTimeline,
    Target,
    Text,
    TimeSeries,
    Within,
)
from dashboards.panels.tiles import leading, tile
from dashboards.panels.variables import CONSUMER_OF_STREAM as NAME
from exporter import catalog as c
from streamgauge.promql.expression import Expression

VARIABLES = (
    variables.JOB,
    variables.CLUSTER,
    variables.SYSTEM,
    variables.ACCOUNT,
    variables.ONE_STREAM,
    variables.ONE_CONSUMER,
)
_q = variables.scope_of(*VARIABLES)
_stat = partial(tile, legend=NAME)

_HOW_TO_READ = """\
The verdict is the first of these that is true:

1. **no leader**: bring its servers back
2. **losing messages**: retention overtakes it; see *Will it lose messages?*
3. **ack-pending full**: max_ack_pending messages are unacknowledged; see *What blocks it?*
4. **stalled**: workers wait and the server delivers nothing; see *Do workers pull?*
5. **redelivery loop**: the same messages again and again; see *Are messages redelivered?*
6. **ack floor stuck**: one message is never acknowledged; see *What blocks it?*
7. **no worker pulls / not bound**: no worker fetches messages; see *Do workers pull?*
8. **falling behind**: its backlog grows; see *Does it keep up?*
9. **critical**, **has warnings**: another condition or alert; see *Conditions*
10. **busy with long jobs**: workers extend ack_wait; nothing to do
11. **paused**, **idle**, **ok**
"""
_LEADS = {
    "Lag": Within("Lag over time"),
    "Pending": Within("Pending and unacked"),
    "Unacked of limit": Within("Pending and unacked"),
    "No delivery for": Within("Time without delivery"),
    "Floor unmoved for": Within("Ack floor unmoved"),
    "Drained in": Within("In against out"),
    "Redelivery": Within("Redelivery ratio"),
    "Blocking message": Within("Position in the stream"),
    "Lag is": Within("Lag over time"),
    "Unread expires in": Within("Unread messages expire in"),
    "Pulls waiting": Within("Waiting pull requests"),
    "Last delivery": Within("Deliveries and redeliveries"),
    "Last ack": Within("In against out"),
    "Dead letters": Within("Abandoned messages"),
}


def board(limits: Limits) -> Board:
    return Board(
        key="consumer",
        title="Why is this consumer stuck?",
        description="One consumer: its verdict and the causes.",
        variables=VARIABLES,
        rows=(
            Row(
                "Verdict",
                (
                    _how_to_read(),
                    _verdict(),
                    _verdict_over_time(),
                    shared.held_conditions(_q, c.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS, NAME),
                    *leading(_stats(limits), _LEADS),
                ),
            ),
            Row("Does it keep up?", _keeping_up()),
            Row("What blocks it?", _blocked(limits)),
            Row("Are messages redelivered?", consumer_details.redelivery(_q, limits)),
            Row("Do workers pull?", consumer_details.pulling(_q)),
            Row("Will it lose messages?", consumer_details.losing(_q, limits)),
            Row("Placement", consumer_configuration.placement(_q), collapsed=True),
            Row("Configuration", consumer_configuration.configuration(_q), collapsed=True),
            Row("Findings of the audit", consumer_configuration.findings(_q), collapsed=True),
        ),
        annotations=(
            event_annotations.consumer_recreations(_q),
            *event_annotations.stream_events(_q),
            event_annotations.server_restarts(_q),
            event_annotations.firing_alerts(_q),
        ),
    )


# --- verdict --------------------------------------------------------------------------------------


def _how_to_read() -> Text:
    return Text(title="How to read it", content=_HOW_TO_READ, width=10, height=9)


def _verdict() -> Stat:
    return Stat(
        title="Verdict",
        guide=Guide(
            "The first verdict that is true, in the order of the text at the left. It is never ok while "
            "a condition or a ticket holds.",
            "Red: messages are or will be lost, or nothing moves. Orange: it needs attention.",
            "Go to the row that the text lists for this verdict.",
        ),
        queries=(Query(conditions.state(_q), NAME),),
        unit="none",
        mapping=STATE_MAPPING,
        width=5,
        height=9,
        background=True,
        links=(Target.STREAM,),
    )


def _verdict_over_time() -> StateTimeline:
    return StateTimeline(
        title="Verdict over time",
        guide=Guide(
            "Since when it has this verdict, and the verdicts before.",
            "A verdict that lasts. One that alternates with ok: a value close to its limit.",
            "Find what else changed at the left end of the bar: deployments, elections.",
        ),
        queries=(Query(conditions.state(_q), NAME),),
        mapping=STATE_MAPPING,
        width=9,
        height=9,
    )


def _stats(limits: Limits) -> tuple[Panel, ...]:
    held = _q.now(c.CONSUMER_NUM_ACK_PENDING).over(_q.now(c.CONSUMER_MAX_ACK_PENDING))
    return (
        _stat(
            "Lag", _q.now(c.CONSUMER_LAG_SECONDS), "s",
            Guide("Age of the oldest unacknowledged message.",
                  "It only rises, or nears the stream's max_age.",
                  "See Does it keep up?: is it slow, or are there no deliveries at all?"),
        ),
        _stat(
            "Pending", _q.now(c.CONSUMER_NUM_PENDING), "short",
            Guide("Messages that match its filter and were never delivered.",
                  "It only rises.",
                  "Rising with deliveries: too slow, add workers. Without: see Do workers pull?"),
        ),
        _stat(
            "Unacked of limit", held, "percentunit",
            Guide("Messages delivered and not acknowledged, as a share of max_ack_pending.",
                  "At 100 % the server delivers nothing until a message is acknowledged.",
                  "Find out why acks are missing before raising max_ack_pending."),
            steps=rising(limits.of(t.ACK_PENDING_RATIO)),
        ),
        _stat(
            "No delivery for", _q.now(c.CONSUMER_STALLED_SECONDS), "s",
            Guide("Time with pending messages and no delivery.",
                  "Above the threshold while workers pull: nothing is delivered.",
                  "See What blocks it? and Do workers pull?"),
            steps=rising(bad=limits.of(t.CONSUMER_STALLED)),
        ),
        _stat(
            "Floor unmoved for", _q.now(c.CONSUMER_ACK_FLOOR_STALLED_SECONDS), "s",
            Guide("Time since the ack floor last moved.",
                  "Many times ack_wait: one message is never acknowledged and holds the floor.",
                  "The panel Blocking message has its sequence; read that message."),
        ),
        _stat(
            "Drained in", _drain_time(), "s",
            Guide("Time until the backlog is empty, at the speed of the last 15 minutes.",
                  "Not falling: it never catches up at this speed.",
                  "Add workers, or slow the publishers down."),
            no_value="not falling",
        ),
        _stat(
            "Redelivery", _q.now(c.CONSUMER_REDELIVERY_RATIO), "percentunit",
            Guide("Share of redeliveries among the deliveries of the last five minutes.",
                  "Above the threshold work is done twice.",
                  "See Are messages redelivered?"),
            steps=rising(bad=limits.of(t.REDELIVERY_RATIO)), no_value="no deliveries",
        ),
        _stat(
            "Blocking message", _q.now(c.CONSUMER_BLOCKING_STREAM_SEQ), "none",
            Guide("Stream sequence of the first unacknowledged message.",
                  "The same number for long: this message is the cause.",
                  "Read it with `nats stream get STREAM SEQUENCE`."),
        ),
        *_more_stats(),
    )  # fmt: skip


def _more_stats() -> tuple[Panel, ...]:
    captured = ValueMapping((MappedValue(0, "not captured", WARN), MappedValue(1, "captured", OK)))
    return (
        _small(
            "Lag is", _q.now(c.CONSUMER_LAG_EXACT), "none",
            Guide("Whether the lag is the age of the message itself, or interpolated between the "
                  "first and the last message of the stream.",
                  "Nothing: an interpolated lag is only less exact.",
                  "Trust the trend of an interpolated lag more than its last digit."),
            mapping=LAG_MAPPING,
        ),
        _small(
            "Unread expires in", _q.now(c.CONSUMER_RETENTION_HEADROOM_SECONDS), "s",
            Guide("Time until its first unread message expires.",
                  "It falls: soon messages are lost unread.",
                  "Raise the stream's max_age; see Will it lose messages?"),
        ),
        _small(
            "Pulls waiting", _q.now(c.CONSUMER_NUM_WAITING), "short",
            Guide("Pull requests that wait at the server. Push consumers show 0.",
                  "0 with pending messages: no worker pulls.",
                  "See Do workers pull?"),
        ),
        _small(
            "Last delivery", _q.age(c.CONSUMER_LAST_DELIVERY_TIMESTAMP_SECONDS), "s",
            Guide("Time since the last delivery.",
                  "Long ago with pending messages.",
                  "See What blocks it? and Do workers pull?"),
        ),
        _small(
            "Last ack", _q.age(c.CONSUMER_LAST_ACK_TIMESTAMP_SECONDS), "s",
            Guide("Time since the last acknowledgement.",
                  "Long ago with unacked messages: its workers do not acknowledge.",
                  "Look at the clients' logs."),
        ),
        _small(
            "Dead letters", _q.now(c.CONSUMER_DEAD_LETTER_CAPTURED), "none",
            Guide("Whether a stream captures the advisory of messages that reached max_deliver.",
                  "Not captured: abandoned messages stay unnoticed.",
                  "Let a stream capture the advisory MAX_DELIVERIES."),
            mapping=captured, no_value="max_deliver not reached",
        ),
    )  # fmt: skip


def _small(
    title: str,
    expr: Expression,
    unit: str,
    guide: Guide,
    *,
    mapping: ValueMapping | None = None,
    no_value: str = "–",
) -> Stat:
    tile = _stat(title, expr, unit, guide, width=8, no_value=no_value)
    return replace(tile, mapping=mapping)


def _drain_time() -> Expression:
    pending = _q.now(c.CONSUMER_NUM_PENDING)
    falling_by = _q.growth(c.CONSUMER_NUM_PENDING) * -1
    return pending.over(falling_by).or_(pending.equals(0))


# --- does it keep up? -----------------------------------------------------------------------------


def _keeping_up() -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="In against out",
            guide=Guide(
                "Messages stored in its stream, deliveries to it, and replies from its clients (ack, "
                "nak, term, progress), per second. A filtered consumer gets only a part of what is stored.",
                "Delivered above stored for long: redelivery. Replies below delivered: workers "
                "do not acknowledge.",
                "Follow the line that falls first: publishers, server or clients.",
            ),
            queries=(
                Query(_q.rate(c.STREAM_STORED_MESSAGES).sum_by(), "stored"),
                Query(_q.rate(c.CONSUMER_DELIVERIES).sum_by(), "delivered"),
                Query(_q.steady_rate(c.CONSUMER_ACKS).sum_by(), "replies, mean of 5 min"),
            ),
            unit="mps",
            overrides=(
                Override("stored", INFO),
                Override("delivered", OK),
                Override("/^replies/", PAUSED),
            ),
        ),
        TimeSeries(
            title="Pending and unacked",
            guide=Guide(
                "Messages never delivered, and messages delivered and not acknowledged.",
                "Pending that only rises; unacked flat at its limit.",
                "Rising pending with unacked at its limit: acks are missing.",
            ),
            queries=(
                Query(_q.now(c.CONSUMER_NUM_PENDING), f"pending {NAME}"),
                Query(_q.now(c.CONSUMER_NUM_ACK_PENDING), f"unacked {NAME}"),
                Query(_q.now(c.CONSUMER_MAX_ACK_PENDING), f"max unacked {NAME}"),
            ),
            overrides=(Override("/^max unacked/", BAD, dashed=True),),
        ),
        *_lag_and_stall(),
    )


def _lag_and_stall() -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Lag over time",
            guide=Guide(
                "Age of the oldest unacknowledged message, against the max_age of the stream.",
                "A slope of one second per second: nothing is acknowledged at all.",
                "At the dashed line messages expire unread.",
            ),
            queries=(
                Query(_q.now(c.CONSUMER_LAG_SECONDS), f"lag {NAME}"),
                Query(_q.now(c.STREAM_MAX_AGE_SECONDS), "max_age {{stream}}"),
            ),
            unit="s",
            overrides=(Override("/^max_age/", BAD, dashed=True),),
        ),
        TimeSeries(
            title="Time without delivery",
            guide=Guide(
                "Time with pending messages and no delivery; 0 while it works.",
                "A sawtooth that climbs higher each time, or does not fall any more.",
                "See What blocks it? and Do workers pull?",
            ),
            queries=(Query(_q.now(c.CONSUMER_STALLED_SECONDS), NAME),),
            unit="s",
        ),
    )


# --- what blocks it? ------------------------------------------------------------------------------


def _blocked(limits: Limits) -> tuple[Panel, ...]:
    waits = t.ACK_FLOOR_ACK_WAITS
    threshold = _q.now(c.CONSUMER_ACK_WAIT_SECONDS) * waits
    return (
        TimeSeries(
            title="Acked above the floor",
            guide=Guide(
                "Deliveries above the ack floor, and how many of them are unacked. The rest "
                "was acknowledged out of order, above an unacknowledged message.",
                "A growing gap between the lines: one message holds the floor.",
                "Read the blocking message: poison, a lost worker, or very slow work.",
            ),
            queries=(
                Query(_q.now(c.CONSUMER_ACK_FLOOR_GAP_DELIVERIES), f"above the floor {NAME}"),
                Query(_q.now(c.CONSUMER_NUM_ACK_PENDING), f"unacked {NAME}"),
            ),
            overrides=(Override("/^above/", WARN), Override("/^unacked/", INFO)),
        ),
        consumer_details.ack_floor_gap(_q),
        consumer_details.position(_q),
        TimeSeries(
            title="Ack floor unmoved",
            guide=Guide(
                "Time since the ack floor last moved with unacked messages, and the threshold of "
                f"the alert: {waits:g} times ack_wait.",
                "Above the dashed line, unless the floor is held by exhausted messages.",
                "Read the blocking message; terminate it if no worker can process it.",
            ),
            queries=(
                Query(_q.now(c.CONSUMER_ACK_FLOOR_STALLED_SECONDS), f"unmoved {NAME}"),
                Query(threshold, f"{waits:g} x ack_wait {NAME}"),
            ),
            unit="s",
            overrides=(Override("/x ack_wait/", BAD, dashed=True),),
        ),
        consumer_details.time_to_ack(_q, limits),
        consumer_details.exhausted(_q),
        consumer_details.floor_held(_q),
    )
