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

_PUT_ASIDE = (
    "Copy what matters, then delete those messages from the stream; listen to the advisory "
    "MAX_DELIVERIES to catch the next."
)


# --- what holds it up? ----------------------------------------------------------------------------


def time_to_ack(q: Scope, limits: Limits) -> TimeSeries:
    mean = q.average(c.CONSUMER_NUM_ACK_PENDING).over(q.rate(c.CONSUMER_DELIVERIES))
    share = limits.value(t.ACK_WAIT_RATIO)
    return TimeSeries(
        title="Time to ack against ack_wait",
        guide=Guide(
            "How long a delivery waits for its ack: the mean (unacked divided by delivery rate) "
            "and, where ack samples are on, the slowest of a hundred.",
            f"Above {share:.0%} of ack_wait with redeliveries: the server repeats messages that "
            "are still being worked on.",
            "Raise ack_wait, send progress notes during long work, or make the work shorter.",
        ),
        queries=(
            Query(mean, f"mean {NAME}"),
            Query(q.quantile(0.99, c.CONSUMER_ACK_SECONDS), f"99 % {NAME}"),
            Query(q.now(c.CONSUMER_ACK_WAIT_SECONDS), f"ack_wait {NAME}"),
        ),
        unit="s",
        overrides=(Override("/^ack_wait/", BAD, dashed=True),),
    )


def exhausted(q: Scope) -> TimeSeries:
    return TimeSeries(
        title="Abandoned messages",
        guide=Guide(
            "Messages that ran out of max_deliver and still lie in the stream: nobody gets them "
            "again.",
            "Anything above 0 that nobody collects.",
            _PUT_ASIDE,
        ),
        queries=(Query(q.now(c.CONSUMER_EXHAUSTED_MESSAGES), NAME),),
        no_value="never given up",
    )


def floor_held(q: Scope) -> StateTimeline:
    return StateTimeline(
        title="Floor held by abandoned messages",
        guide=Guide(
            "Whether messages that ran out of max_deliver hold the ack floor: what lies above the "
            "floor is then no live work.",
            "Held for long: nobody will ever finish these messages.",
            _PUT_ASIDE,
        ),
        queries=(Query(q.now(c.CONSUMER_ACK_FLOOR_EXHAUSTED), NAME),),
        mapping=HELD_MAPPING,
        no_value="no max_deliver",
        width=24,
        height=4,
    )


# --- does work come back? -------------------------------------------------------------------------


def coming_back(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Redelivery ratio",
            guide=Guide(
                "Share of the deliveries of the last five minutes that were repeated ones.",
                "Above the line work is done twice; near 100 % nothing gets done.",
                "Compare with naks and with the time to ack: refused, too late, or no answer.",
            ),
            queries=(Query(q.now(c.CONSUMER_REDELIVERY_RATIO), NAME),),
            unit="percentunit",
            steps=rising(bad=limits.of(t.REDELIVERY_RATIO)),
            soft_maximum=0.2,
            width=8,
        ),
        TimeSeries(
            title="Deliveries, first and repeated",
            guide=Guide(
                "Deliveries per second and how many of them were not the first of their message.",
                "The repeated ones come near all of them.",
                "See the cause below; a poison message comes back at the pace of ack_wait.",
            ),
            queries=(
                Query(q.rate(c.CONSUMER_DELIVERIES), f"all {NAME}"),
                Query(q.rate(c.CONSUMER_REDELIVERIES), f"repeated {NAME}"),
            ),
            unit="mps",
            overrides=(Override("/^all/", INFO), Override("/^repeated/", WARN)),
            width=8,
        ),
        TimeSeries(
            title="Naks, terms, given up",
            guide=Guide(
                "Messages per second that clients refused (nak) or ended for good (term), or that "
                "the server gave up after max_deliver.",
                "Naks in a steady stream: a plain nak is delivered again at once, without backoff.",
                "Let clients nak with a delay, or term what can never work.",
            ),
            queries=(
                Query(q.rate(c.CONSUMER_NAKS), f"nak {NAME}"),
                Query(q.rate(c.CONSUMER_TERMS), f"term by {{{{by}}}} {NAME}"),
                Query(q.rate(c.CONSUMER_EXHAUSTED), f"given up {NAME}"),
            ),
            unit="mps",
            no_value="none heard",
            width=8,
        ),
        *_causes(q),
    )


def _causes(q: Scope) -> tuple[Panel, ...]:
    return (
        StateTimeline(
            title="Why messages come back",
            guide=Guide(
                "What the exporter concludes from acks and advisories.",
                "No answer: clients die with messages in hand. Acked too late: ack_wait is short.",
                "Late: raise ack_wait. Refused: look at the client's errors. Loop: poison.",
            ),
            queries=(Query(q.now(c.CONSUMER_REDELIVERY_CAUSE), NAME),),
            mapping=CAUSE_MAPPING,
            no_value="none told",
            height=6,
        ),
        Heatmap(
            title="Time to ack, spread",
            guide=Guide(
                "How many acks took how long, from the server's ack samples.",
                "A second band near ack_wait: these messages are repeated although they work.",
                "Set `sample_freq` on the consumer to see it; raise ack_wait above the band.",
            ),
            queries=(Query(q.buckets(c.CONSUMER_ACK_SECONDS).sum_by("le"), "{{le}}"),),
            unit="mps",
            no_value="no ack samples",
            height=6,
        ),
    )


# --- does anybody ask? ----------------------------------------------------------------------------


def asking(q: Scope) -> tuple[Panel, ...]:
    replies = q.steady_rate(c.CONSUMER_ACKS).over(q.steady_rate(c.CONSUMER_DELIVERIES))
    return (
        TimeSeries(
            title="Waiting pull requests",
            guide=Guide(
                "Pull requests that wait at the server for messages.",
                "0 with messages pending: no client asks. Push consumers always show 0.",
                "Look whether the workers run, and whether they are bound to this consumer.",
            ),
            queries=(Query(q.now(c.CONSUMER_NUM_WAITING), NAME),),
            width=8,
        ),
        TimeSeries(
            title="Pull requests",
            guide=Guide(
                "Pull requests per second that the server received for it; a mean of five minutes.",
                "0: nobody asks any more. Thousands for few messages: clients poll too eagerly.",
                "Restart the workers, or give their pulls a longer deadline.",
            ),
            queries=(Query(q.steady_rate(c.CONSUMER_PULLS), NAME),),
            unit="reqps",
            width=8,
        ),
        TimeSeries(
            title="Replies per delivery",
            guide=Guide(
                "Replies of clients (ack, nak, term, progress) for each delivery, over five minutes.",
                "Well below 1: clients take messages and never answer.",
                "Look at the clients' logs; a worker that dies leaves its messages unacked.",
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
                "Whether somebody listens to the delivery subject. Push consumers only.",
                "No: messages pile up and nobody is there.",
                "Start the subscriber, or delete a consumer that nobody needs.",
            ),
            queries=(Query(q.now(c.CONSUMER_PUSH_BOUND), NAME),),
            mapping=ValueMapping(
                (MappedValue(0, "nobody listens", BAD), MappedValue(1, "bound", OK))
            ),
            no_value="pull consumer",
            width=12,
            height=4,
        ),
        StateTimeline(
            title="Paused",
            guide=Guide(
                "Whether somebody paused it. No bar: it was never paused.",
                "Paused and forgotten: messages pile up, and may expire.",
                "Ask who paused it, then resume it.",
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
            title="Time until unread messages expire",
            guide=Guide(
                "The stream's max_age minus the lag, and the share of it at which the alert "
                "speaks. No line while it is caught up or the stream has no max_age.",
                "Below the dashed line and falling: soon messages are gone before they are read.",
                "Raise max_age now, then make the consumer faster.",
            ),
            queries=(
                Query(q.now(c.CONSUMER_RETENTION_HEADROOM_SECONDS), f"left {NAME}"),
                Query(low, f"{share:.0%} of max_age {{{{stream}}}}"),
            ),
            unit="s",
            no_value="caught up, or no max_age",
            overrides=(Override("/of max_age/", BAD, dashed=True),),
            width=8,
        ),
        TimeSeries(
            title="Distance from the end that is dropped",
            guide=Guide(
                "How far its first unread message is from being dropped by a full stream; 0 is "
                "next to go. Only on streams that are nearly full and drop old messages.",
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
                "Messages that were removed before it was ever sent them: by limits (lost), or "
                "by a purge that somebody ordered.",
                "Anything lost.",
                "Raise the stream's limits; get the data again from where it came.",
            ),
            queries=(
                Query(q.increase(c.CONSUMER_LOST_MESSAGES, "$__rate_interval"), f"lost {NAME}"),
                Query(q.increase(c.CONSUMER_PURGED_MESSAGES, "$__rate_interval"), f"purged {NAME}"),
            ),
            bars=True,
            overrides=(Override("/^lost/", BAD), Override("/^purged/", INFO)),
            width=8,
        ),
    )
