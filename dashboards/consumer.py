"""Why is this consumer stuck? Panels in the order in which the verdicts are found."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from alerts import thresholds as t
from dashboards import choices, consumer_configuration, consumer_details, moments
from dashboards.choices import CONSUMER_OF_STREAM as NAME
from dashboards.colours import (
    BAD,
    INFO,
    LAG_WORDS,
    OK,
    PAUSED,
    VERDICT_WORDS,
    WARN,
    Mapping,
    Word,
    rising,
)
from dashboards.expression import Expr
from dashboards.limits import Limits
from dashboards.model import (
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
)
from dashboards.tiles import tile
from exporter import catalog as c

VARIABLES = (
    choices.JOB,
    choices.SYSTEM,
    choices.ACCOUNT,
    choices.ONE_STREAM,
    choices.ONE_CONSUMER,
)
_q = choices.scope_of(*VARIABLES)
_stat = partial(tile, legend=NAME)

_HOW_TO_READ = """\
The verdict is the first of these that holds:

1. **no leader**: bring its servers back
2. **paused**: somebody paused it
3. **losing messages**: retention overtakes it; see *Will it lose messages?*
4. **ack-pending full**: it took all it may hold and does not ack; see *What holds it up?*
5. **redelivery loop**: the same messages again and again; see *Does work come back?*
6. **ack floor stuck**: one message is never finished; see *What holds it up?*
7. **no worker pulls / not bound**: no client asks; see *Does anybody ask?*
8. **falling behind**: it works, too slowly; see *Does it keep up?*
9. **idle**, then **ok**
"""


def board(limits: Limits) -> Board:
    return Board(
        key="consumer",
        title="Why is this consumer stuck?",
        description="One consumer: its verdict, and what stands behind it.",
        variables=VARIABLES,
        rows=(
            Row("Verdict", (_how_to_read(), _verdict(), _verdict_over_time(), *_stats(limits))),
            Row("Does it keep up?", _keeping_up()),
            Row("What holds it up?", _held_up(limits)),
            Row("Does work come back?", consumer_details.coming_back(_q, limits)),
            Row("Does anybody ask?", consumer_details.context(_q)),
            Row("Will it lose messages?", consumer_details.losing(_q, limits)),
            Row("Placement", consumer_configuration.placement(_q), collapsed=True),
            Row("Configuration", consumer_configuration.configuration(_q), collapsed=True),
            Row("Findings of the audit", consumer_configuration.findings(_q), collapsed=True),
        ),
        annotations=(
            moments.consumer_recreations(_q),
            *moments.stream_moments(_q),
            moments.server_restarts(_q),
            moments.firing_alerts(_q),
        ),
    )


# --- verdict --------------------------------------------------------------------------------------


def _how_to_read() -> Text:
    return Text(title="How to read it", content=_HOW_TO_READ, width=10, height=9)


def _verdict() -> Stat:
    return Stat(
        title="Verdict",
        guide=Guide(
            "The first state that holds, worst first; the text at the left explains each.",
            "Red: messages are or will be lost, or nothing moves. Orange: it needs a look.",
            "Go to the row that the text names for this verdict.",
        ),
        queries=(Query(_q.now(c.CONSUMER_VERDICT), NAME),),
        unit="none",
        mapping=VERDICT_WORDS,
        width=5,
        height=9,
        background=True,
        links=(Target.STREAM,),
    )


def _verdict_over_time() -> StateTimeline:
    return StateTimeline(
        title="Verdict over time",
        guide=Guide(
            "Since when it has been so, and what came before.",
            "A verdict that lasts; one that alternates with ok points to a limit on edge.",
            "Look at what else changed at the left end of the bar: deployments, elections.",
        ),
        queries=(Query(_q.now(c.CONSUMER_VERDICT), NAME),),
        mapping=VERDICT_WORDS,
        width=9,
        height=9,
    )


def _stats(limits: Limits) -> tuple[Panel, ...]:
    held = _q.now(c.CONSUMER_NUM_ACK_PENDING).over(_q.now(c.CONSUMER_MAX_ACK_PENDING))
    return (
        _stat(
            "Lag", _q.now(c.CONSUMER_LAG_SECONDS), "s",
            Guide("Age of the oldest message that it has not finished.",
                  "It only rises, or nears the stream's max_age.",
                  "See Does it keep up?: is it slow, or does nothing move at all?"),
        ),
        _stat(
            "Pending", _q.now(c.CONSUMER_NUM_PENDING), "short",
            Guide("Messages that match its filter and were never sent to it.",
                  "It only rises.",
                  "Rising with deliveries: too slow, add workers. Without: see Does anybody ask?"),
        ),
        _stat(
            "Unacked of limit", held, "percentunit",
            Guide("Messages delivered and not acknowledged, as a share of max_ack_pending.",
                  "At 100 % the server sends nothing more until something is acknowledged.",
                  "Find out why acks are missing before raising max_ack_pending."),
            steps=rising(limits.of(t.ACK_PENDING_RATIO)),
        ),
        _stat(
            "No delivery for", _q.now(c.CONSUMER_STALLED_SECONDS), "s",
            Guide("Time with messages pending and not one delivery.",
                  "Above the threshold while clients ask: nothing gets through.",
                  "See What holds it up? and Does anybody ask?"),
            steps=rising(bad=limits.of(t.CONSUMER_STALLED)),
        ),
        _stat(
            "Ack floor unmoved for", _q.now(c.CONSUMER_ACK_FLOOR_STALLED_SECONDS), "s",
            Guide("Time since everything up to some message was last acknowledged further.",
                  "Many times ack_wait: one message is never finished and holds the floor.",
                  "The panel Blocking message names its sequence; look at that message."),
        ),
        _stat(
            "Drained in", _drain_time(), "s",
            Guide("How long the backlog lasts at the speed of the last quarter of an hour.",
                  "Not falling: it never catches up at this speed.",
                  "Add workers, or slow the publishers down."),
            no_value="not falling",
        ),
        _stat(
            "Redelivery", _q.now(c.CONSUMER_REDELIVERY_RATIO), "percentunit",
            Guide("Share of the deliveries of the last five minutes that were repeated ones.",
                  "Above the threshold work is done twice.",
                  "See Does work come back?"),
            steps=rising(bad=limits.of(t.REDELIVERY_RATIO)), no_value="no deliveries",
        ),
        _stat(
            "Blocking message", _q.now(c.CONSUMER_BLOCKING_STREAM_SEQ), "none",
            Guide("Stream sequence of the first message that it has not finished.",
                  "The same number for long: this message is the cause.",
                  "Read it with `nats stream get STREAM SEQUENCE`."),
        ),
        *_more_stats(),
    )  # fmt: skip


def _more_stats() -> tuple[Panel, ...]:
    letters = Mapping((Word(0, "nobody listens", WARN), Word(1, "captured", OK)))
    return (
        _small(
            "Lag is", _q.now(c.CONSUMER_LAG_EXACT), "none",
            Guide("Whether the lag was read from the message itself or interpolated between the "
                  "stream's first and last message.",
                  "Nothing is bad about it: an interpolated one is only less sharp.",
                  "Trust the trend of an interpolated lag more than its last digit."),
            mapping=LAG_WORDS,
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
                  "0 with messages pending: nobody asks.",
                  "See Does anybody ask?"),
        ),
        _small(
            "Last delivery", _q.age(c.CONSUMER_LAST_DELIVERY_TIMESTAMP_SECONDS), "s",
            Guide("Time since it last delivered something.",
                  "Long ago with messages pending.",
                  "See What holds it up? and Does anybody ask?"),
        ),
        _small(
            "Last ack", _q.age(c.CONSUMER_LAST_ACK_TIMESTAMP_SECONDS), "s",
            Guide("Time since any message was last acknowledged.",
                  "Long ago with messages unacked: its clients are silent.",
                  "Look at the clients' logs."),
        ),
        _small(
            "Dead letters", _q.now(c.CONSUMER_DEAD_LETTER_CAPTURED), "none",
            Guide("Whether somebody listens when a message runs out of max_deliver.",
                  "Nobody: abandoned messages stay unnoticed.",
                  "Let a stream capture the advisory MAX_DELIVERIES."),
            mapping=letters, no_value="never given up",
        ),
    )  # fmt: skip


def _small(
    title: str,
    expr: Expr,
    unit: str,
    guide: Guide,
    *,
    mapping: Mapping | None = None,
    no_value: str = "–",
) -> Stat:
    tile = _stat(title, expr, unit, guide, width=4, height=3, no_value=no_value)
    return replace(tile, mapping=mapping)


def _drain_time() -> Expr:
    pending = _q.now(c.CONSUMER_NUM_PENDING)
    falling_by = _q.growth(c.CONSUMER_NUM_PENDING).negated()
    return pending.over(falling_by).otherwise(pending.equal(0))


# --- does it keep up? -----------------------------------------------------------------------------


def _keeping_up() -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="In against out",
            guide=Guide(
                "Messages stored in its stream, deliveries to it, and replies from its clients (ack, "
                "nak, term, progress), per second. A filtered consumer gets only a part of what is stored.",
                "Delivered above stored for long: redelivery. Replies below delivered: clients "
                "take and do not answer.",
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
            title="What waits",
            guide=Guide(
                "Messages never sent to it, and messages sent and not acknowledged.",
                "Pending that only rises; unacked flat at its limit.",
                "Rising pending with a flat unacked at its limit means: acks are missing.",
            ),
            queries=(
                Query(_q.now(c.CONSUMER_NUM_PENDING), f"pending {NAME}"),
                Query(_q.now(c.CONSUMER_NUM_ACK_PENDING), f"unacked {NAME}"),
                Query(_q.now(c.CONSUMER_MAX_ACK_PENDING), f"max unacked {NAME}"),
            ),
            overrides=(Override("/^max unacked/", BAD, dashed=True),),
        ),
        *_standing_still(),
    )


def _standing_still() -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Lag over time",
            guide=Guide(
                "Age of the oldest message that it has not finished, against the stream's max_age.",
                "A slope of one second per second: nothing is finished at all.",
                "If it meets the dashed line messages expire unread.",
            ),
            queries=(
                Query(_q.now(c.CONSUMER_LAG_SECONDS), f"lag {NAME}"),
                Query(_q.now(c.STREAM_MAX_AGE_SECONDS), "max_age {{stream}}"),
            ),
            unit="s",
            overrides=(Override("/^max_age/", BAD, dashed=True),),
        ),
        TimeSeries(
            title="No delivery for so long",
            guide=Guide(
                "Time with messages pending and not one delivery; 0 while it works.",
                "A saw that climbs higher each time, or does not fall any more.",
                "See What holds it up? and Does anybody ask?",
            ),
            queries=(Query(_q.now(c.CONSUMER_STALLED_SECONDS), NAME),),
            unit="s",
        ),
    )


# --- what holds it up? ----------------------------------------------------------------------------


def _held_up(limits: Limits) -> tuple[Panel, ...]:
    waits = limits.value(t.ACK_FLOOR_ACK_WAITS)
    patience = _q.now(c.CONSUMER_ACK_WAIT_SECONDS).times(waits)
    return (
        TimeSeries(
            title="Acked above the floor",
            guide=Guide(
                "Deliveries above the ack floor, and how many of them are unacked. What lies "
                "between the lines was acknowledged out of order above an unfinished message.",
                "A wide space between them that grows: one message holds the floor.",
                "Look at the blocking message: poison, a lost worker, a very slow kind of work.",
            ),
            queries=(
                Query(_q.now(c.CONSUMER_ACK_FLOOR_GAP_DELIVERIES), f"above the floor {NAME}"),
                Query(_q.now(c.CONSUMER_NUM_ACK_PENDING), f"unacked {NAME}"),
            ),
            overrides=(Override("/^above/", WARN), Override("/^unacked/", INFO)),
        ),
        TimeSeries(
            title="Ack floor unmoved",
            guide=Guide(
                "Time since the ack floor last moved while something is unacked, against the "
                f"patience of the alert: {waits:g} times ack_wait.",
                "Above the dashed line, unless the floor is held by exhausted messages.",
                "Look at the blocking message; terminate it if nobody can work on it.",
            ),
            queries=(
                Query(_q.now(c.CONSUMER_ACK_FLOOR_STALLED_SECONDS), f"unmoved {NAME}"),
                Query(patience, f"{waits:g} x ack_wait {NAME}"),
            ),
            unit="s",
            overrides=(Override("/x ack_wait/", BAD, dashed=True),),
        ),
        consumer_details.time_to_ack(_q, limits),
        consumer_details.exhausted(_q),
        consumer_details.floor_held(_q),
    )
