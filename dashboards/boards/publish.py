"""Publishing and dedupe: what arrives, what is stored, what is refused, and how sure that is."""

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
)
from dashboards.panels.tiles import tile
from dashboards.panels.variables import STREAM_PATH
from exporter import catalog as c
from streamgauge.promql.selectors import Regex

VARIABLES = (variables.JOB, variables.SYSTEM, variables.ACCOUNT, variables.STREAM)
_q = variables.scope_of(*VARIABLES)
_FEW = 10
_ROWS = 50
# The publisher expected another last sequence or message id than there was.
_CONFLICTS = Regex("10070|10071|10164")

_WHAT_IS_COUNTED = """\
**Where the numbers come from.** *Received* is what reached the stream, *stored* is the growth of its
sequence, *not stored* is the difference: duplicates and rejections together.
With the publish-ack tap on, duplicates are **exact** and rejections are counted by code.
Without it duplicates are an **upper bound**, which rejections raise too.
With the account source, received is not known, and these panels stay empty.
"""


def board(limits: Limits) -> Board:
    return Board(
        key="publish",
        title="Publishing and dedupe",
        description="What publishers send, what is stored, and what is refused.",
        variables=VARIABLES,
        rows=(
            Row("Does everything get stored?", (*_stats(limits), _what_is_counted())),
            Row("Received, stored, refused", _rates(limits)),
            Row("Who is silent?", (_last_publish(),)),
            Row("Duplicate window", _window(limits)),
            Row("How sure is it?", _certainty()),
        ),
        annotations=(*event_annotations.stream_moments(_q), event_annotations.firing_alerts(_q)),
        hours=3,
    )


# --- stats ----------------------------------------------------------------------------------------


def _stats(limits: Limits) -> tuple[Panel, ...]:
    received = _q.steady_rate(c.STREAM_PUBLISHES_RECEIVED).sum_by()
    stored = _q.rate(c.STREAM_STORED_MESSAGES).sum_by()
    unstored = _q.steady_rate(c.STREAM_PUBLISHES_UNSTORED).sum_by()
    duplicates = _q.increase(c.STREAM_DEDUPE_HITS).sum_by()
    rejected = _q.increase(c.STREAM_PUBLISH_REJECTIONS).sum_by()
    return (
        tile("Received", received, "mps",
             Guide("Publishes that reached the streams, per second.",
                   "Far above stored.", "Compare with stored and not stored."),
             steps=plain()),
        tile("Stored", stored, "mps",
             Guide("Messages stored per second.",
                   "0 while publishers work.", "Look at rejections, and at the streams' leaders."),
             steps=plain()),
        tile("Not stored", unstored.over(received).clamp_max(1), "percentunit",
             Guide("Share of the publishes that reached a stream and were not stored.",
                   "Above the threshold: publishers retry too much, or are rejected.",
                   "Look which stream it is, then at duplicates and rejections by code."),
             steps=rising(limits.of(t.PUBLISH_UNSTORED_RATIO))),
        tile("Duplicates", duplicates, "short",
             Guide("Publishes refused as duplicates in the shown time.",
                   "Many: publishers repeat what was already acknowledged.",
                   "Look at the publishers' timeouts; duplicates cost the server work."),
             steps=plain(), decimals=0),
        tile("Rejections", rejected, "short",
             Guide("Publishes that the server answered with an error in the shown time.",
                   "Anything above 0: publishers lose messages unless they try again.",
                   "The panel Rejections by code tells why."),
             steps=rising(warn=ANY), decimals=0, no_value="not heard"),
    )  # fmt: skip


def _what_is_counted() -> Text:
    return Text(title="What is counted", content=_WHAT_IS_COUNTED, width=9, height=4)


# --- rates ----------------------------------------------------------------------------------------


def _rates(limits: Limits) -> tuple[Panel, ...]:
    received, unstored = c.STREAM_PUBLISHES_RECEIVED, c.STREAM_PUBLISHES_UNSTORED
    worst = _q.grown(unstored).top(_FEW)
    ratio = _q.steady_rate(unstored).over(_q.steady_rate(received)).clamp_max(1)
    # Mirrors store what nobody publishes into them; beside received they would only confuse.
    stored = _q.steady_rate(c.STREAM_STORED_MESSAGES).where(_q.steady_rate(received))
    return (
        TimeSeries(
            title="Received against stored",
            guide=Guide(
                "Publishes received, stored and not stored, of all chosen streams that tell; means of "
                "five minutes, for the exporter counts them about once a minute.",
                "Received without stored beneath it.",
                "The panels beside it tell which stream, and why.",
            ),
            queries=(
                Query(_q.steady_rate(received).sum_by(), "received"),
                Query(stored.sum_by(), "stored"),
                Query(_q.steady_rate(unstored).sum_by(), "not stored"),
            ),
            unit="mps",
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
            links=(Target.STREAM,),
        ),
        *_refusals(limits),
    )


def _refusals(limits: Limits) -> tuple[Panel, ...]:
    hits, rejections = c.STREAM_DEDUPE_HITS, c.STREAM_PUBLISH_REJECTIONS
    conflicts = _q.steady_rate(rejections, code=_CONFLICTS).sum_by(*c.STREAM)
    return (
        TimeSeries(
            title="Duplicates, by stream",
            guide=Guide(
                f"Publishes per second that were refused as duplicates; the {_FEW} with most. "
                "How sure is it? says whether they are exact.",
                "A steady flow: a publisher repeats everything, or its ids are not unique.",
                "Look at the publisher's timeouts and at how it makes message ids.",
            ),
            queries=(Query(_q.steady_rate(hits).where(_q.grown(hits).top(_FEW)), STREAM_PATH),),
            unit="mps",
            links=(Target.STREAM,),
            width=8,
        ),
        TimeSeries(
            title="Rejections by code",
            guide=Guide(
                "Publishes answered with an error, per second, by the server's error code. "
                "10071, 10164 and 10070 are wrong expectations, 10077 is a full stream.",
                "Any flow that lasts.",
                "Wrong expectation: two publishers write at once. Full: raise the limit.",
            ),
            queries=(Query(_q.busiest(rejections, _FEW), f"{{{{code}}}} {STREAM_PATH}"),),
            unit="mps",
            no_value="none heard",
            links=(Target.STREAM,),
            width=8,
        ),
        TimeSeries(
            title="Wrong expectations",
            guide=Guide(
                f"Share of the publishes that were rejected for a wrong expectation; the {_FEW} "
                "streams with most.",
                "Above the line: several writers race, or one works with an old sequence.",
                "Let one writer write each subject, or read again before it retries.",
            ),
            queries=(
                Query(
                    conflicts.over(_q.steady_rate(c.STREAM_PUBLISHES_RECEIVED)).top(_FEW),
                    STREAM_PATH,
                ),
            ),
            unit="percentunit",
            steps=rising(limits.of(t.PUBLISH_CONFLICT_RATIO)),
            soft_maximum=0.02,
            no_value="none heard",
            links=(Target.STREAM,),
            width=8,
        ),
    )


# --- who is silent? -------------------------------------------------------------------------------


def _last_publish() -> Table:
    age = _q.age(c.STREAM_LAST_TIMESTAMP_SECONDS)
    silent = age.top(_ROWS)
    return Table(
        title="Silent streams",
        guide=Guide(
            f"Time since each stream's newest message was stored; the {_ROWS} most silent.",
            "A stream whose publishers are never silent for so long.",
            "Look at the publisher. An empty stream has no time and is not listed.",
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
    ids = _q.now(c.STREAM_DEDUPE_IDS)
    most = _q.peak(c.STREAM_DEDUPE_IDS).top(_FEW)
    return (
        TimeSeries(
            title="Message ids held",
            guide=Guide(
                f"Ids that the server holds for the duplicate window, an estimate; the {_FEW} "
                "streams with most.",
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
                f"What these ids take in the memory of each replica, at {per_id:g} bytes each.",
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
                "How long a message id is remembered.",
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


# --- how sure is it? ------------------------------------------------------------------------------


def _certainty() -> tuple[Panel, ...]:
    exact = _q.now(c.STREAM_DEDUPE_EXACT).top(20)
    return (
        StateTimeline(
            title="Duplicates are",
            guide=Guide(
                "Whether duplicates are counted from acknowledgements, or are an upper bound.",
                "Bound is not bad, only less sharp: rejections raise it too.",
                "Switch the publish-ack tap on for exact numbers.",
            ),
            queries=(Query(exact, STREAM_PATH),),
            mapping=EXACT_MAPPING,
            width=8,
        ),
        StateTimeline(
            title="Publish-ack tap",
            guide=Guide(
                "Whether the tap that hears publish acknowledgements is on. No bar: not configured.",
                "Off although it is configured: duplicates are a bound, rejections are not heard.",
                "Look at the exporter's log and at the permission of its user.",
            ),
            queries=(Query(_q.now(c.PUBLISH_ACK_TAP_ACTIVE), "{{system}}"),),
            mapping=ValueMapping((MappedValue(0, "off", WARN), MappedValue(1, "listens", OK))),
            no_value="not heard",
            width=8,
        ),
        shared.questions_left_out(
            _q,
            Guide(
                "Questions that the exporter leaves out on purpose, and why.",
                "A bar: what hangs on this question is absent, here mostly publish accounting.",
                "Ceiling: raise it in the configuration. Permission: give it to the user.",
            ),
        ),
    )
