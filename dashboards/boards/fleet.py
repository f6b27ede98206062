"""The board that is opened first: is anything broken, and where to look next."""

from __future__ import annotations

from functools import partial

from alerts import thresholds as t
from dashboards import external_metrics
from dashboards.boards import fleet_servers, fleet_tables
from dashboards.panels import event_annotations, variables
from dashboards.panels.colours import (
    ANY,
    BAD,
    INFO,
    NOT_WELL,
    VERDICT_MAPPING,
    WARN,
    WHOLE,
    MappedValue,
    Step,
    ValueMapping,
    falling,
    plain,
    rising,
)
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    Board,
    Guide,
    Panel,
    Query,
    Row,
    Stat,
    StateTimeline,
    Target,
    TimeSeries,
)
from dashboards.panels.tiles import tile
from dashboards.panels.variables import CONSUMER_PATH, STREAM_PATH, unwell_longest
from exporter import catalog as c
from streamgauge.promql.expression import Expression

VARIABLES = (variables.JOB, variables.SYSTEM, variables.ACCOUNT)
_q = variables.scope_of(*VARIABLES)
_trouble = partial(tile, background=True)
_FEW = 10  # series in a graph
_ROWS = 15  # rows in a state timeline
_LOOK_AT_EXPORTER = "Open the board Exporter and pipeline: failed questions stand there by reason."


def board(limits: Limits) -> Board:
    return Board(
        key="fleet",
        title="Fleet",
        description="Is anything broken in JetStream, and where to look next.",
        variables=VARIABLES,
        rows=(
            Row("Is it broken?", _troubles(limits)),
            Row("Consumers", (*_consumers(limits), fleet_tables.consumers(_q, limits))),
            Row("Streams", (*_streams(), fleet_tables.streams(_q, limits))),
            Row("Servers", fleet_servers.servers(_q, limits)),
            Row("Alerts", (_alert_history(),)),
        ),
        annotations=(event_annotations.server_restarts(_q), event_annotations.firing_alerts(_q)),
    )


# --- is it broken? --------------------------------------------------------------------------------


def _troubles(limits: Limits) -> tuple[Panel, ...]:
    return (
        _servers_missing(),
        _streams_without_leader(),
        _consumers_not_well(),
        _messages_lost(),
        _alerts_firing("Pages firing", "critical", rising(bad=ANY)),
        _alerts_firing("Tickets firing", "warning", rising(warn=ANY)),
        _age_of_the_data(limits),
        _complete_polls(),
        *_sizes(),
    )


def _servers_missing() -> Stat:
    missing = _q.now(c.SERVERS_EXPECTED) - _q.now(c.SERVERS_ANSWERED)
    return _trouble(
        "Servers missing", missing.sum_by(), "short",
        Guide("Servers that ought to answer and did not answer the last poll.",
              "Anything above 0: replicas are lost, and one more may cost the quorum.",
              "The row Servers names the one; look at its process and its network."),
        steps=rising(bad=ANY),
    )  # fmt: skip


def _streams_without_leader() -> Stat:
    up = _q.now(c.STREAM_UP)
    return _trouble(
        "Streams without leader", up.equals(0).count_by().or_zero(up), "short",
        Guide("Streams that are known and have no leader.",
              "Anything above 0: nobody can publish into them or read from them.",
              "Bring the missing servers back; more than half of the replicas must be up."),
        steps=rising(bad=ANY),
    )  # fmt: skip


def _consumers_not_well() -> Stat:
    verdict = _q.now(c.CONSUMER_VERDICT)
    return _trouble(
        "Consumers not well", (verdict >= NOT_WELL).count_by().or_zero(verdict), "short",
        Guide("Consumers whose verdict is worse than ok, idle or paused.",
              "Anything above 0 that stays. The table below names them and says why.",
              "Open the worst one from the table Consumers."),
        steps=rising(warn=ANY),
    )  # fmt: skip


def _messages_lost() -> Stat:
    return _trouble(
        "Messages lost in 24 h", _q.increase(c.CONSUMER_LOST_MESSAGES, "1d").sum_by(), "short",
        Guide("Messages that limits or retention removed before a consumer was ever sent them.",
              "Anything above 0: this data is gone for that consumer.",
              "Find the consumer in the table; raise the stream's limits or speed the reader up."),
        steps=rising(bad=ANY), decimals=0,
    )  # fmt: skip


def _alerts_firing(title: str, severity: str, steps: tuple[Step, ...]) -> Stat:
    # The watchdog always fires: without it there are no rules, and 0 would be a lie.
    watchdog = _q.now(
        external_metrics.ALERTS, alertname=event_annotations.WATCHDOG, alertstate="firing"
    )
    return _trouble(
        title, _firing(severity).count_by().or_zero(watchdog), "short",
        Guide(f"Alerts of severity {severity} that fire now.",
              "Anything above 0. *No rules* means that Prometheus has not loaded ours.",
              "See the row Alerts for their names and since when; each has a runbook."),
        steps=steps, no_value="no rules",
    )  # fmt: skip


def _firing(severity: str) -> Expression:
    return _q.now(
        external_metrics.ALERTS,
        alertname=event_annotations.ALERT_NAMES,
        alertstate="firing",
        severity=severity,
    )


def _age_of_the_data(limits: Limits) -> Stat:
    return _trouble(
        "Age of the data", _q.least(c.SNAPSHOT_AGE_SECONDS).max_by(), "s",
        Guide("How old the data of the stalest system is, from its freshest exporter.",
              "More than three poll intervals: everything on this board is history.",
              _LOOK_AT_EXPORTER),
        steps=rising(bad=limits.of(t.SNAPSHOT_AGE)), links=(Target.EXPORTER,),
    )  # fmt: skip


def _complete_polls() -> Stat:
    up = _q.now(c.UP)
    return _trouble(
        "Complete polls", up.sum_by().over(up.count_by()), "percentunit",
        Guide("Share of the systems whose last poll was answered in full.",
              "Below 100 %: some numbers are absent, and absent is not zero.",
              _LOOK_AT_EXPORTER),
        steps=falling(warn=WHOLE), links=(Target.EXPORTER,),
    )  # fmt: skip


def _sizes() -> tuple[Panel, ...]:
    sizes: tuple[tuple[str, Expression, str, str], ...] = (
        ("All streams", _q.now(c.STREAM_UP).count_by(), "short", "Streams that are known."),
        ("All consumers", _q.now(c.STREAM_CONSUMERS).sum_by(), "short",
         "Consumers of all streams, ephemeral ones included."),
        ("Publish rate", _q.rate(c.STREAM_STORED_MESSAGES).sum_by(), "mps",
         "Messages stored per second, in all streams."),
        ("Delivery rate", _q.rate(c.CONSUMER_DELIVERIES).sum_by(), "mps",
         "Deliveries per second to all consumers, repeated ones included."),
        ("Messages stored", _q.now(c.STREAM_MESSAGES).sum_by(), "short",
         "Messages in all streams, one copy."),
        ("Bytes stored", _q.now(c.STREAM_BYTES).sum_by(), "bytes",
         "Size of all streams, one copy."),
    )  # fmt: skip
    return tuple(_size(*each) for each in sizes)


def _size(title: str, expr: Expression, unit: str, means: str) -> Stat:
    guide = Guide(
        means,
        "A sudden step, or a rate that falls to 0: a publisher or a reader went away.",
        "Compare with the hour before; the rows below tell which stream it is.",
    )
    return tile(title, expr, unit, guide, steps=plain(), width=4, height=3)


# --- consumers ------------------------------------------------------------------------------------


def _consumers(limits: Limits) -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Lag of the worst consumers",
            guide=Guide(
                f"Age of the oldest message that a consumer has not finished; the {_FEW} worst "
                "of the shown time.",
                "A line that only rises: the consumer does not catch up. One that nears the "
                "stream's max_age: messages will be lost.",
                "Click a line and open the consumer.",
            ),
            queries=(Query(_q.highest(c.CONSUMER_LAG_SECONDS, _FEW), CONSUMER_PATH),),
            unit="s",
            links=(Target.CONSUMER, Target.STREAM),
        ),
        TimeSeries(
            title="Redelivery of the worst consumers",
            guide=Guide(
                f"Share of deliveries that were repeated ones; the {_FEW} worst of the shown time.",
                "Above the line work is done twice; near 100 % nothing gets done at all.",
                "Open the consumer: late acks, refused messages and poison look different there.",
            ),
            queries=(Query(_q.highest(c.CONSUMER_REDELIVERY_RATIO, _FEW), CONSUMER_PATH),),
            unit="percentunit",
            steps=rising(bad=limits.of(t.REDELIVERY_RATIO)),
            soft_maximum=0.2,
            links=(Target.CONSUMER, Target.STREAM),
        ),
        StateTimeline(
            title="Verdicts of the worst consumers",
            guide=Guide(
                f"What the exporter says of the {_ROWS} consumers that were unwell longest.",
                "Red: messages are or will be lost, or nothing moves. Orange: it will get there.",
                "Click a bar and open the consumer; its board follows the order of the verdicts.",
            ),
            queries=(Query(unwell_longest(_q, _ROWS), CONSUMER_PATH),),
            mapping=VERDICT_MAPPING,
            width=24,
            height=9,
            links=(Target.CONSUMER,),
        ),
    )


# --- streams --------------------------------------------------------------------------------------


def _streams() -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Publish rate of the busiest streams",
            guide=Guide(
                f"Messages stored per second; the {_FEW} streams that grew most.",
                "A line that falls to 0 while its publishers should be at work.",
                "Click a line and open the stream.",
            ),
            queries=(Query(_q.busiest(c.STREAM_STORED_MESSAGES, _FEW), STREAM_PATH),),
            unit="mps",
            links=(Target.STREAM, Target.PUBLISH),
        ),
        TimeSeries(
            title="Delivery rate of the busiest consumers",
            guide=Guide(
                f"Deliveries per second; the {_FEW} consumers that got most.",
                "A line that falls to 0 while the stream still grows, or one that runs far above "
                "its stream's publish rate: the same messages come again and again.",
                "Click a line and open the consumer.",
            ),
            queries=(Query(_q.busiest(c.CONSUMER_DELIVERIES, _FEW), CONSUMER_PATH),),
            unit="mps",
            links=(Target.CONSUMER,),
        ),
    )


# --- alerts ---------------------------------------------------------------------------------------


def _alert_history() -> StateTimeline:
    severities = (("critical", 1), ("warning", 2), ("info", 3))
    return StateTimeline(
        title="Alerts over time",
        guide=Guide(
            "Alerts that fired in the shown time, one bar each.",
            "A red bar pages somebody. One that comes and goes points to a limit on edge.",
            "Open the alert's runbook; the words after its name tell what it is about.",
        ),
        queries=tuple(_alerts_of(severity, value) for severity, value in severities),
        about_alerts=True,
        no_value="none fires, or no rules",
        mapping=ValueMapping(
            (
                MappedValue(1, "page", BAD),
                MappedValue(2, "ticket", WARN),
                MappedValue(3, "info", INFO),
            )
        ),
        width=24,
        height=10,
    )


def _alerts_of(severity: str, value: int) -> Query:
    about = ("alertname", "system", "stream", "consumer", "server")
    legend = " ".join(f"{{{{{label}}}}}" for label in about)
    return Query(_firing(severity).max_by(*about) * value, legend)
