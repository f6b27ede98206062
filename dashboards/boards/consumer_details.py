"""The middle rows of the consumer board: what holds it up, redelivery, clients, losses."""

from __future__ import annotations

from alerts import thresholds as t
from dashboards.panels.colours import (
    BAD,
    CAUSE_MAPPING,
    HELD_MAPPING,
    INFO,
    OK,
    PAUSED_MAPPING,
    WARN,
    MappedValue,
    ValueMapping,
    falling,
    rising,
)
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    Guide,
    Heatmap,
    Override,
    Panel,
    Query,
    StateTimeline,
    TimeSeries,
)
from dashboards.panels.variables import CONSUMER_OF_STREAM as NAME
from dashboards.queries import Scope
from exporter import catalog as c

_COLLECT = (
    "Copy what you need, then delete these messages from the stream; capture the advisory "
    "MAX_DELIVERIES to notice the next."
)


# --- what blocks it? ------------------------------------------------------------------------------


def time_to_ack(q: Scope, limits: Limits) -> TimeSeries:
    mean = q.average(c.CONSUMER_NUM_ACK_PENDING).over(q.rate(c.CONSUMER_DELIVERIES))
    share = limits.value(t.ACK_WAIT_RATIO)
    return TimeSeries(
        title="Time to ack against ack_wait",
        guide=Guide(
            "Time from a delivery to its ack: the mean (unacked divided by delivery rate) "
            "and, where ack samples are on, the 99th percentile.",
            f"Above {share:.0%} of ack_wait with redeliveries: the server redelivers "
            "messages that are still in work.",
            "Raise ack_wait, send in-progress acks during long work, or make the work shorter.",
        ),
        queries=(
            Query(mean, f"mean {NAME}"),
            Query(q.quantile(0.99, c.CONSUMER_ACK_SECONDS), f"99 % {NAME}"),
            Query(q.now(c.CONSUMER_ACK_WAIT_SECONDS), f"ack_wait {NAME}"),
        ),
        unit="s",
        overrides=(Override("/^ack_wait/", BAD, dashed=True),),
    )


def ack_floor_gap(q: Scope) -> TimeSeries:
    return TimeSeries(
        title="Ack floor gap",
        guide=Guide(
            "Stream sequences between the ack floor and the last delivered message. With a "
            "filter it also counts messages that do not match: see Acked above the floor.",
            "It grows while deliveries continue: the floor does not follow.",
            "Read the message above the ack floor; see Ack floor unmoved.",
        ),
        queries=(Query(q.now(c.CONSUMER_ACK_FLOOR_GAP), NAME),),
    )


def position(q: Scope) -> TimeSeries:
    return TimeSeries(
        title="Position in the stream",
        guide=Guide(
            "Sequence of the last delivered message, and the first sequence of the stream.",
            "The first sequence passes the position: messages were removed before delivery.",
            "Raise the limits of the stream, or make the consumer faster.",
        ),
        queries=(
            Query(q.now(c.CONSUMER_DELIVERED_STREAM_SEQ), f"delivered {NAME}"),
            Query(q.now(c.STREAM_FIRST_SEQ), "first {{stream}}"),
        ),
        overrides=(Override("/^first/", BAD, dashed=True),),
    )


def exhausted(q: Scope) -> TimeSeries:
    return TimeSeries(
        title="Abandoned messages",
        guide=Guide(
            "Messages that reached max_deliver and are still in the stream: the server delivers "
            "them no more.",
            "Anything above 0 that stays.",
            _COLLECT,
        ),
        queries=(Query(q.now(c.CONSUMER_EXHAUSTED_MESSAGES), NAME),),
        no_value="max_deliver not reached",
    )


def floor_held(q: Scope) -> StateTimeline:
    return StateTimeline(
        title="Floor held by abandoned messages",
        guide=Guide(
            "Whether messages that reached max_deliver hold the ack floor.",
            "Held for long: these messages are never acknowledged.",
            _COLLECT,
        ),
        queries=(Query(q.now(c.CONSUMER_ACK_FLOOR_EXHAUSTED), NAME),),
        mapping=HELD_MAPPING,
        no_value="no max_deliver",
        width=24,
        height=4,
    )


# --- are messages redelivered? ---------------------------------------------------------------------


def redelivery(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Redelivery ratio",
            guide=Guide(
                "Share of redeliveries among the deliveries of the last five minutes.",
                "Above the line: work is done twice. Near 100 %: no new messages are delivered.",
                "Compare with naks and with the time to ack: nak, too late, or no ack.",
            ),
            queries=(Query(q.now(c.CONSUMER_REDELIVERY_RATIO), NAME),),
            unit="percentunit",
            steps=rising(bad=limits.of(t.REDELIVERY_RATIO)),
            soft_maximum=0.2,
            width=8,
        ),
        TimeSeries(
            title="Deliveries and redeliveries",
            guide=Guide(
                "Deliveries per second, and the redeliveries among them.",
                "Redeliveries close to all deliveries.",
                "See the cause below; a poison message is redelivered after each ack_wait.",
            ),
            queries=(
                Query(q.rate(c.CONSUMER_DELIVERIES), f"all {NAME}"),
                Query(q.rate(c.CONSUMER_REDELIVERIES), f"redelivered {NAME}"),
            ),
            unit="mps",
            overrides=(Override("/^all/", INFO), Override("/^redelivered/", WARN)),
            width=8,
        ),
        TimeSeries(
            title="Naks, terms, max_deliver",
            guide=Guide(
                "Messages per second with a nak, with a term, or that reached max_deliver.",
                "Steady naks: after a plain nak the server redelivers at once, without backoff.",
                "Let clients nak with a delay, or term messages that can never be processed.",
            ),
            queries=(
                Query(q.rate(c.CONSUMER_NAKS), f"nak {NAME}"),
                Query(q.rate(c.CONSUMER_TERMS), f"term by {{{{by}}}} {NAME}"),
                Query(q.rate(c.CONSUMER_EXHAUSTED), f"max_deliver {NAME}"),
            ),
            unit="mps",
            no_value="none, or no advisories: set events in the exporter",
            width=8,
        ),
        *_causes(q),
    )


def _causes(q: Scope) -> tuple[Panel, ...]:
    return (
        StateTimeline(
            title="Cause of redeliveries",
            guide=Guide(
                "The cause that the exporter derives from acks and advisories.",
                "No ack: workers die with messages. Acked too late: ack_wait is too short.",
                "Late: raise ack_wait. Nak: check the errors of the worker. Poison: terminate it.",
            ),
            queries=(Query(q.now(c.CONSUMER_REDELIVERY_CAUSE), NAME),),
            mapping=CAUSE_MAPPING,
            no_value="unknown",
            height=6,
        ),
        Heatmap(
            title="Time to ack, distribution",
            guide=Guide(
                "Distribution of the time to ack, from the ack samples of the server.",
                "A second band near ack_wait: these messages are redelivered while in work.",
                "Set `sample_freq` on the consumer to see it; raise ack_wait above the band.",
            ),
            queries=(Query(q.buckets(c.CONSUMER_ACK_SECONDS).sum_by("le"), "{{le}}"),),
            unit="mps",
            no_value="no ack samples: set sample_freq on the consumer",
            height=6,
        ),
    )


# --- do workers pull? -----------------------------------------------------------------------------


def pulling(q: Scope) -> tuple[Panel, ...]:
    replies = q.known_rate(c.CONSUMER_ACKS).over(q.known_rate(c.CONSUMER_DELIVERIES))
    return (
        TimeSeries(
            title="Waiting pull requests",
            guide=Guide(
                "Pull requests that wait at the server for messages.",
                "0 with pending messages: no worker pulls. Push consumers always show 0.",
                "Check that the workers run, and that they use this consumer.",
            ),
            queries=(Query(q.now(c.CONSUMER_NUM_WAITING), NAME),),
            width=8,
        ),
        TimeSeries(
            title="Pull requests",
            guide=Guide(
                "Pull requests per second that the server received for it; a mean of five minutes.",
                "0: no worker pulls any more. Thousands for few messages: workers pull too often.",
                "Restart the workers, or set a longer expiry on their pulls.",
            ),
            queries=(Query(q.steady_rate(c.CONSUMER_PULLS), NAME),),
            unit="reqps",
            width=8,
        ),
        TimeSeries(
            title="Replies per delivery",
            guide=Guide(
                "Replies of clients (ack, nak, term, progress) for each delivery, over five minutes.",
                "Well below 1: workers do not acknowledge.",
                "Check the logs of the workers; a worker that dies leaves its messages unacked.",
            ),
            queries=(Query(replies, NAME),),
            width=8,
        ),
        *_states(q),
    )


def _states(q: Scope) -> tuple[Panel, ...]:
    return (
        StateTimeline(
            title="Push consumer bound",
            guide=Guide(
                "Whether the delivery subject has a subscriber. Push consumers only.",
                "Not bound: messages accumulate.",
                "Start the subscriber, or delete an unused consumer.",
            ),
            queries=(Query(q.now(c.CONSUMER_PUSH_BOUND), NAME),),
            mapping=ValueMapping((MappedValue(0, "not bound", BAD), MappedValue(1, "bound", OK))),
            no_value="pull consumer",
            width=12,
            height=4,
        ),
        StateTimeline(
            title="Paused",
            guide=Guide(
                "Whether it is paused. No bar: it was never paused.",
                "Paused and forgotten: messages accumulate, and may expire.",
                "Find out who paused it, then resume it.",
            ),
            queries=(Query(q.now(c.CONSUMER_PAUSED), NAME),),
            mapping=PAUSED_MAPPING,
            no_value="never paused",
            width=12,
            height=4,
        ),
    )


# --- will it lose messages? -----------------------------------------------------------------------


def losing(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    share = limits.value(t.RETENTION_HEADROOM_RATIO)
    low = q.now(c.STREAM_MAX_AGE_SECONDS) * share
    return (
        TimeSeries(
            title="Unread messages expire in",
            guide=Guide(
                "The max_age of the stream minus the lag, and the threshold of the alert. No line "
                "without lag or without max_age.",
                "Below the dashed line and falling: soon messages expire unread.",
                "Raise max_age now, then make the consumer faster.",
            ),
            queries=(
                Query(q.now(c.CONSUMER_RETENTION_HEADROOM_SECONDS), f"left {NAME}"),
                Query(low, f"{share:.0%} of max_age {{{{stream}}}}"),
            ),
            unit="s",
            no_value="no lag, or no max_age",
            overrides=(Override("/of max_age/", BAD, dashed=True),),
            width=8,
        ),
        TimeSeries(
            title="Distance to discarding",
            guide=Guide(
                "Distance of its first unread message from the oldest message of a full stream; 0 is "
                "discarded next. Only on streams that are nearly full, with discard old.",
                "Below the line and falling.",
                "Raise the stream's max_bytes or max_msgs, then make the consumer faster.",
            ),
            queries=(Query(q.now(c.CONSUMER_RETENTION_HEADROOM_RATIO), NAME),),
            unit="percentunit",
            steps=falling(bad=limits.of(t.RETENTION_HEADROOM_RATIO)),
            maximum=1,
            no_value="not nearly full",
            width=8,
        ),
        TimeSeries(
            title="Lost messages",
            guide=Guide(
                "Messages that were removed before delivery: by limits (lost), or by a purge.",
                "Anything lost.",
                "Raise the limits of the stream; publish the data again from its origin.",
            ),
            queries=(
                Query(q.increase(c.CONSUMER_LOST_MESSAGES, "$__rate_interval"), f"lost {NAME}"),
                Query(q.increase(c.CONSUMER_PURGED_MESSAGES, "$__rate_interval"), f"purged {NAME}"),
            ),
            bars=True,
            overrides=(Override("/^lost/", BAD), Override("/^purged/", INFO)),
            no_value="no loss seen",
            width=8,
        ),
    )
