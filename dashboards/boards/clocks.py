"""Board of the clocks: offsets of the servers, their uncertainty, and the consequences."""

from __future__ import annotations

from functools import partial

from alerts import thresholds as t
from dashboards.panels import event_annotations, variables
from dashboards.panels.colours import BAD, OK, UNKNOWN, MappedValue, ValueMapping, plain, rising
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    Board,
    Guide,
    Override,
    Panel,
    Query,
    Row,
    StateTimeline,
    Text,
    TimeSeries,
    Within,
)
from dashboards.panels.tiles import leading, tile
from dashboards.panels.variables import SERVER_PATH
from exporter import catalog as c
from streamgauge.promql.expression import Expression

VARIABLES = (variables.JOB, variables.CLUSTER, variables.SYSTEM, variables.SERVER)
_q = variables.scope_of(*VARIABLES)
_stat = partial(tile, width=8)
_WHAT_DEPENDS = """\
**Depends on the clock of the leader of a stream:** when messages expire (`max_age`, message TTL), how long
a message id stays in the duplicate window, the timestamp of every message, and the start of a consumer
with a start time. After an election the clock of another server counts.

**Does not depend on it:** the order of messages, their sequences, and the publishers' clocks: the server
finds a duplicate by its id and its own time.

All servers off by the same amount: check the clock of the exporter first.
"""
_LEADS = {
    "Worst certain offset": Within("Offset with its uncertainty"),
    "Spread between servers": Within("Spread over time"),
    "Largest uncertainty": Within("Round trip"),
}


def board(limits: Limits) -> Board:
    return Board(
        key="clocks",
        title="Clocks",
        description="Which server's clock is off, and how sure that is.",
        variables=VARIABLES,
        rows=(
            Row("Are the clocks right?", (*leading(_stats(limits), _LEADS), _what_depends())),
            Row("Offset", _offsets(limits)),
            Row("What it means", _consequences()),
        ),
        annotations=(event_annotations.server_restarts(_q), event_annotations.firing_alerts(_q)),
        hours=6,
    )


def _certain_offset() -> Expression:
    """The offset without its uncertainty."""
    offset = _q.now(c.SERVER_CLOCK_OFFSET_SECONDS).absolute()
    return (offset - _q.now(c.SERVER_CLOCK_UNCERTAINTY_SECONDS)).clamp_min(0)


def _spread() -> Expression:
    offset = _q.now(c.SERVER_CLOCK_OFFSET_SECONDS)
    return offset.max_by("system") - offset.min_by("system")


def _stats(limits: Limits) -> tuple[Panel, ...]:
    line = rising(bad=limits.of(t.CLOCK_OFFSET))
    return (
        _stat("Worst certain offset", _certain_offset().max_by(), "s",
              Guide("The largest clock offset of a server, minus its uncertainty.",
                    "Above the threshold: messages expire early or late by as much.",
                    "Check the time synchronisation (NTP, PTP) of that server."),
              steps=line, background=True),
        _stat("Spread between servers", _spread().max_by(), "s",
              Guide("The largest difference between the clocks of two servers of one system.",
                    "Above the threshold: an election moves expiry by as much.",
                    "Find the server in the graph below and correct its clock."),
              steps=line, background=True),
        _stat("Largest uncertainty", _q.now(c.SERVER_CLOCK_UNCERTAINTY_SECONDS).max_by(), "s",
              Guide("The largest uncertainty: half the round trip of the best sample, plus drift.",
                    "As large as the offsets: the offsets mean nothing.",
                    "Run the exporter nearer to the servers."),
              steps=plain()),
    )  # fmt: skip


def _what_depends() -> Text:
    return Text(title="What depends on clocks", content=_WHAT_DEPENDS, height=5)


def _offsets(limits: Limits) -> tuple[Panel, ...]:
    offset = _q.now(c.SERVER_CLOCK_OFFSET_SECONDS)
    uncertainty = _q.now(c.SERVER_CLOCK_UNCERTAINTY_SECONDS)
    return (
        TimeSeries(
            title="Offset with its uncertainty",
            guide=Guide(
                "Server clock minus exporter clock, with its uncertainty as a band.",
                "A band far from 0; a line that drifts.",
                "Check the time synchronisation of that server.",
            ),
            queries=(
                Query(offset, f"offset {SERVER_PATH}"),
                Query(offset + uncertainty, f"at most {SERVER_PATH}"),
                Query(offset - uncertainty, f"at least {SERVER_PATH}"),
            ),
            unit="s",
            minimum=None,
            overrides=(Override("/^at (most|least)/", UNKNOWN, dashed=True, off_legend=True),),
            height=10,
        ),
        *_spreads(limits),
        StateTimeline(
            title="Within budget",
            guide=Guide(
                "Whether each clock offset is below the threshold of the alert.",
                "A red bar.",
                "Correct the clock of that server slowly: a jump expires messages at once.",
            ),
            queries=(
                Query(_certain_offset().is_at_least(limits.value(t.CLOCK_OFFSET)), SERVER_PATH),
            ),
            mapping=ValueMapping((MappedValue(0, "within", OK), MappedValue(1, "off", BAD))),
            width=24,
            height=6,
        ),
    )


def _spreads(limits: Limits) -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Spread over time",
            guide=Guide(
                "The largest difference between the clocks of two servers of one system.",
                "Above the line.",
                "Find the server in the graph beside it.",
            ),
            queries=(Query(_spread(), "{{system}}"),),
            unit="s",
            steps=rising(bad=limits.of(t.CLOCK_OFFSET)),
            width=6,
            height=10,
        ),
        TimeSeries(
            title="Round trip",
            guide=Guide(
                "Shortest time from a request to the response of the server.",
                "A step upwards: the network or the server became slow.",
                "Compare with the server's load.",
            ),
            queries=(Query(_q.now(c.SERVER_ROUND_TRIP_SECONDS), SERVER_PATH),),
            unit="s",
            width=6,
            height=10,
        ),
    )


def _consequences() -> tuple[Panel, ...]:
    off = _q.now(c.SERVER_CLOCK_OFFSET_SECONDS).absolute().max_by("system")
    window = (_q.at_end(c.STREAM_DUPLICATE_WINDOW_SECONDS) > 0).min_by("system")
    ack_wait = (_q.at_end(c.CONSUMER_ACK_WAIT_SECONDS) > 0).min_by("system")
    max_age = (_q.at_end(c.STREAM_MAX_AGE_SECONDS) > 0).min_by("system")
    return (
        _share("Offset in duplicate window", off.over(window),
               "the shortest duplicate window of all streams"),
        _share("Offset in ack_wait", off.over(ack_wait),
               "the shortest ack_wait of all consumers"),
        _share("Offset in max_age", off.over(max_age),
               "the shortest max_age of all streams"),
    )  # fmt: skip


def _share(title: str, expr: Expression, of_what: str) -> TimeSeries:
    return TimeSeries(
        title=title,
        guide=Guide(
            f"The worst clock offset of a system as a share of {of_what}.",
            "More than a few percent: the setting is no longer accurate.",
            "Correct the clock, or make the setting longer.",
        ),
        queries=(Query(expr, "{{system}}"),),
        unit="percentunit",
        width=8,
    )
