"""Board of publishing and dedupe: received, stored, duplicates, rejections."""

from __future__ import annotations

from alerts import thresholds as t
from dashboards.panels import event_annotations, shared, variables
from dashboards.panels.colours import (
    ANY,
    BAD,
    EXACT_MAPPING,
    INFO,
    OK,
    WARN,
    MappedValue,
    ValueMapping,
    plain,
    rising,
)
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    Board,
    Column,
    Guide,
    Override,
    Panel,
    Query,
    Row,
    StateTimeline,
    Table,
    Target,
    Text,
    TimeSeries,
    Within,
)
from dashboards.panels.tiles import leading, tile
from dashboards.panels.variables import STREAM_PATH
from exporter import catalog as c
from streamgauge.promql.selectors import Regex

VARIABLES = (
    variables.JOB,
    variables.CLUSTER,
    variables.SYSTEM,
    variables.ACCOUNT,
    variables.STREAM,
)
_q = variables.scope_of(*VARIABLES)
_FEW = 10
_ROWS = 50
_UNKNOWN = "not known"
_NOT_COUNTED = "not known: less than five minutes counted, or its request fails"
_NO_REJECTIONS = "none; without events.publish_ack_tap they are not counted"
_NO_DUPLICATES = "none, or the account source without events.publish_ack_tap"
# The publisher expected another last sequence or message id than there was.
_CONFLICTS = Regex("10070|10071|10164")

_WHAT_IS_COUNTED = """\
**Where the numbers come from.** *Received* is what reached the stream, *stored* is the growth of its
sequence, *not stored* is the difference: duplicates and rejections together.
With the publish-ack tap on, duplicates are **exact** and rejections are counted by code.
Without it duplicates are an **upper bound**, which rejections raise too.
With the account source, received is unknown, and these panels are empty.
"""
_LEADS = {
    "Received": Within("Received against stored"),
    "Stored": Within("Received against stored"),
    "Not stored": Within("Not stored, by stream"),
    "Duplicates": Within("Duplicates, by stream"),
    "Rejections": Within("Rejections by code"),
}


def board(limits: Limits) -> Board:
    return Board(
        key="publish",
        title="Publishing and dedupe",
        description="Publishes: received, stored, duplicates and rejections.",
        variables=VARIABLES,
        rows=(
            Row("Is everything stored?", (*leading(_stats(limits), _LEADS), _what_is_counted())),
            Row("Received, stored, rejected", _rates(limits)),
            Row("Silent streams", (_last_publish(),)),
            Row("Duplicate window", _window(limits)),
            Row("How exact is it?", _certainty()),
        ),
        annotations=(*event_annotations.stream_events(_q), event_annotations.firing_alerts(_q)),
        hours=3,
    )


# --- stats ----------------------------------------------------------------------------------------


def _stats(limits: Limits) -> tuple[Panel, ...]:
    received = _q.known_rate(c.STREAM_PUBLISHES_RECEIVED)
    stored = _q.known_rate(c.STREAM_STORED_MESSAGES).sum_by()
    unstored = _q.known_rate(c.STREAM_PUBLISHES_UNSTORED)
    # Of the same streams: received is also known where not stored is not.
    share = unstored.sum_by().over(received.where(unstored).sum_by()).clamp_max(1)
    duplicates = _q.increase(c.STREAM_DEDUPE_HITS).sum_by()
    tapped = _q.now(c.PUBLISH_ACK_TAP_ACTIVE).equals(1)
    rejected = _q.increase(c.STREAM_PUBLISH_REJECTIONS).sum_by().or_zero(tapped)
    return (
        tile("Received", received.sum_by(), "mps",
             Guide("Publishes that reached the streams, per second; a mean of five minutes. "
                   "Not known while the request for it fails, and five minutes after.",
                   "Far above stored.", "Compare with stored and not stored."),
             steps=plain(), no_value=_UNKNOWN),
        tile("Stored", stored, "mps",
             Guide("Messages stored per second; a mean of five minutes.",
                   "0 while publishers work.", "Check rejections, and the leaders of the streams."),
             steps=plain(), no_value=_UNKNOWN),
        tile("Not stored", share, "percentunit",
             Guide("Share of the publishes that reached a stream and were not stored.",
                   "Above the threshold: publishers retry too much, or are rejected.",
                   "Find the stream, then check duplicates and rejections by code."),
             steps=rising(limits.of(t.PUBLISH_UNSTORED_RATIO)), no_value=_UNKNOWN),
        tile("Duplicates", duplicates, "short",
             Guide("Publishes that the server dropped as duplicates in the shown time.",
                   "Many: publishers repeat acknowledged messages.",
                   "Check the timeouts of the publishers; duplicates cost the server CPU."),
             steps=plain(), decimals=0, no_value="none seen"),
        tile("Rejections", rejected, "short",
             Guide("Publishes that the server rejected in the shown time.",
                   "Anything above 0: publishers lose messages unless they try again.",
                   "The panel Rejections by code shows the reason."),
             steps=rising(warn=ANY), decimals=0, no_value="tap off"),
    )  # fmt: skip


def _what_is_counted() -> Text:
    return Text(title="What is counted", content=_WHAT_IS_COUNTED, width=18, height=4)


# --- rates ----------------------------------------------------------------------------------------


def _rates(limits: Limits) -> tuple[Panel, ...]:
    received, unstored = c.STREAM_PUBLISHES_RECEIVED, c.STREAM_PUBLISHES_UNSTORED
    worst = _q.grown(unstored).top(_FEW)
    ratio = _q.known_rate(unstored).over(_q.known_rate(received)).clamp_max(1)
    # Mirrors store messages without publishes; beside received they would only confuse.
    stored = _q.known_rate(c.STREAM_STORED_MESSAGES).where(_q.known_rate(received))
    return (
        TimeSeries(
            title="Received against stored",
            guide=Guide(
                "Publishes received, stored and not stored, of the chosen streams; means of five "
                "minutes, because the exporter fetches them about once a minute.",
                "Received far above stored.",
                "The panels beside it show the stream and the reason.",
            ),
            queries=(
                Query(_q.known_rate(received).sum_by(), "received"),
                Query(stored.sum_by(), "stored"),
                Query(_q.known_rate(unstored).sum_by(), "not stored"),
            ),
            unit="mps",
            no_value=_NOT_COUNTED,
            overrides=(
                Override("received", INFO),
                Override("stored", OK),
                Override("not stored", BAD),
            ),
        ),
        TimeSeries(
            title="Not stored, by stream",
            guide=Guide(
                f"Share of each stream's publishes that were not stored; the {_FEW} worst.",
                "Above the line: duplicates or rejections.",
                "Click a line and open the stream.",
            ),
            queries=(Query(ratio.where(worst), STREAM_PATH),),
            unit="percentunit",
            steps=rising(limits.of(t.PUBLISH_UNSTORED_RATIO)),
            no_value=_NOT_COUNTED,
            links=(Target.STREAM,),
        ),
        *_rejections(limits),
    )


def _rejections(limits: Limits) -> tuple[Panel, ...]:
    hits, rejections = c.STREAM_DEDUPE_HITS, c.STREAM_PUBLISH_REJECTIONS
    conflicts = _q.steady_rate(rejections, code=_CONFLICTS).sum_by(*c.STREAM)
    return (
        TimeSeries(
            title="Duplicates, by stream",
            guide=Guide(
                f"Publishes per second that were dropped as duplicates; the {_FEW} with most. "
                "The row How exact is it? shows whether they are exact.",
                "A steady flow: a publisher repeats everything, or its ids are not unique.",
                "Check the timeouts of the publisher and how it creates message ids.",
            ),
            queries=(Query(_q.steady_rate(hits).where(_q.grown(hits).top(_FEW)), STREAM_PATH),),
            unit="mps",
            no_value=_NO_DUPLICATES,
            links=(Target.STREAM,),
            width=8,
        ),
        TimeSeries(
            title="Rejections by code",
            guide=Guide(
                "Rejected publishes per second, by error code. 10071, 10164 and 10070 are wrong "
                "expected sequences or message ids, 10077 is a full stream.",
                "Rejections that last.",
                "Wrong sequence or id: two publishers write at once. Full: raise the limit.",
            ),
            queries=(Query(_q.busiest(rejections, _FEW), f"{{{{code}}}} {STREAM_PATH}"),),
            unit="mps",
            no_value=_NO_REJECTIONS,
            links=(Target.STREAM,),
            width=8,
        ),
        TimeSeries(
            title="Wrong expectations",
            guide=Guide(
                f"Share of the publishes that were rejected for a wrong expected sequence or "
                f"message id; the {_FEW} streams with most.",
                "Above the line: several writers race, or one works with an old sequence.",
                "Let one writer write each subject, or read again before it retries.",
            ),
            queries=(
                Query(
                    conflicts.over(_q.known_rate(c.STREAM_PUBLISHES_RECEIVED))
                    .clamp_max(1)
                    .top(_FEW),
                    STREAM_PATH,
                ),
            ),
            unit="percentunit",
            steps=rising(limits.of(t.PUBLISH_CONFLICT_RATIO)),
            soft_maximum=0.02,
            no_value=_NO_REJECTIONS,
            links=(Target.STREAM,),
            width=8,
        ),
    )


# --- silent streams -------------------------------------------------------------------------------


def _last_publish() -> Table:
    age = _q.age(c.STREAM_LAST_TIMESTAMP_SECONDS)
    silent = age.top(_ROWS)
    return Table(
        title="Silent streams",
        guide=Guide(
            f"Time since the newest message of each stream was stored; the {_ROWS} longest.",
            "A stream whose publishers are never idle for so long.",
            "Check the publisher. An empty stream has no time and is not listed.",
        ),
        identity=c.STREAM,
        columns=(
            Column("Silent for", age.where(silent), "s"),
            Column("Messages", _q.now(c.STREAM_MESSAGES).where(silent)),
            Column("Stored/s", _q.rate(c.STREAM_STORED_MESSAGES).where(silent), "mps"),
        ),
        sort_by="Silent for",
        links=(Target.STREAM,),
    )


# --- duplicate window -----------------------------------------------------------------------------


def _window(limits: Limits) -> tuple[Panel, ...]:
    per_id = limits.value(t.DEDUPE_ID_MEMORY)
    ids = _q.now(c.STREAM_DEDUPE_WINDOW_MESSAGES)
    most = _q.peak(c.STREAM_DEDUPE_WINDOW_MESSAGES).top(_FEW)
    return (
        TimeSeries(
            title="Messages in the window",
            guide=Guide(
                f"The server holds at most as many message ids, an estimate; the {_FEW} streams "
                "with most.",
                "It grows with rate times window: a long window on a busy stream is expensive.",
                "Shorten the window to what publishers need for their retries.",
            ),
            queries=(Query(ids.where(most), STREAM_PATH),),
            links=(Target.STREAM,),
            width=8,
        ),
        TimeSeries(
            title="Memory of message ids",
            guide=Guide(
                f"Memory of their ids on each replica, at {per_id:g} bytes each, if all have one.",
                "Above the line: the server may run out of memory.",
                "Shorten the window, or publish without ids where order and retries allow it.",
            ),
            queries=(Query(ids.where(most) * per_id, STREAM_PATH),),
            unit="bytes",
            steps=rising(limits.of(t.DEDUPE_MEMORY)),
            links=(Target.STREAM,),
            width=8,
        ),
        Table(
            title="Length of the window",
            guide=Guide(
                "Length of the duplicate window.",
                "Shorter than publishers retry: a late retry is stored twice.",
                "Set it to the longest time after which a publisher still retries.",
            ),
            identity=c.STREAM,
            columns=(Column("Window", _q.now(c.STREAM_DUPLICATE_WINDOW_SECONDS).top(_ROWS), "s"),),
            sort_by="Window",
            links=(Target.STREAM,),
            width=8,
            height=8,
        ),
    )


# --- how exact is it? -----------------------------------------------------------------------------


def _certainty() -> tuple[Panel, ...]:
    exact = _q.now(c.STREAM_DEDUPE_EXACT).top(20)
    return (
        StateTimeline(
            title="Duplicates are",
            guide=Guide(
                "Whether duplicates are counted from acknowledgements, or are an upper bound.",
                "An upper bound is only less exact: rejections raise it too.",
                "Enable the publish-ack tap for exact numbers.",
            ),
            queries=(Query(exact, STREAM_PATH),),
            mapping=EXACT_MAPPING,
            width=8,
        ),
        StateTimeline(
            title="Publish-ack tap",
            guide=Guide(
                "Whether the publish-ack tap is subscribed. No bar: not configured.",
                "Off although configured: duplicates are an upper bound, rejections are unknown.",
                "Check the log of the exporter and the permissions of its user.",
            ),
            queries=(Query(_q.now(c.PUBLISH_ACK_TAP_ACTIVE), "{{system}}"),),
            mapping=ValueMapping((MappedValue(0, "off", WARN), MappedValue(1, "on", OK))),
            no_value="off: set events.publish_ack_tap in the exporter",
            width=8,
        ),
        shared.skipped_requests(
            _q,
            Guide(
                "Requests that the exporter skips by design, and why.",
                "A bar: the metrics of this request are absent, here mostly publish accounting.",
                "Ceiling: raise it in the configuration. Permission: grant it to the user.",
            ),
        ),
    )
