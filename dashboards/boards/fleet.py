"""Board of all systems: is anything broken, and where to continue."""

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
    Link,
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
from dashboards.panels.variables import CONSUMER_PATH, STREAM_PATH
from exporter import catalog as c
from streamgauge.promql.expression import Expression

VARIABLES = (
    variables.JOB,
    variables.CLUSTER,
    variables.SYSTEM,
    variables.ACCOUNT,
    variables.EXPORTER,
)
_q = variables.scope_of(*VARIABLES)
_problem = partial(tile, background=True)
_FEW = 10  # series in a graph
_ROWS = 15  # rows in a state timeline
_SEE_EXPORTER = "Open the board Exporter and pipeline: it lists failed requests by reason."
_LEADS: dict[str, Link] = {
    "All streams": Within("Streams"),
    "All consumers": Within("Consumers"),
    "Publish rate": Within("Publish rate of the busiest streams"),
    "Delivery rate": Within("Delivery rate of the busiest consumers"),
    "Messages stored": Within("Streams"),
    "Bytes stored": Target.CAPACITY,
}


def board(limits: Limits) -> Board:
    return Board(
        key="fleet",
        title="Fleet",
        description="Is anything broken in JetStream, and where to continue?",
        variables=VARIABLES,
        rows=(
            Row("Is it broken?", (*_problems(limits), fleet_tables.conditions(_q))),
            Row("Alerts", (_alert_history(),)),
            Row("Totals", leading(_sizes(), _LEADS)),
            Row("Consumers", (*_consumers(limits), fleet_tables.consumers(_q, limits))),
            Row("Streams", (*_streams(), fleet_tables.streams(_q, limits))),
            Row("Servers", fleet_servers.servers(_q, limits)),
        ),
        annotations=(event_annotations.server_restarts(_q), event_annotations.firing_alerts(_q)),
        refresh="1m",
        least_interval="1m",  # of the recorded series
    )


# --- is it broken? --------------------------------------------------------------------------------


def _problems(limits: Limits) -> tuple[Panel, ...]:
    return (
        _servers_missing(),
        _streams_without_leader(),
        _unhealthy_consumers(),
        _messages_lost(),
        _alerts_firing("Pages firing", "critical", rising(bad=ANY)),
        _alerts_firing("Tickets firing", "warning", rising(warn=ANY)),
        _age_of_the_data(limits),
        _complete_polls(),
    )


def _servers_missing() -> Stat:
    missing = _q.now(c.SERVERS_EXPECTED) - _q.now(c.SERVERS_RESPONDING)
    return _problem(
        "Servers missing", missing.sum_by(), "short",
        Guide("Servers that did not respond to the last poll.",
              "Anything above 0: replicas are missing, and one more may cost the quorum.",
              "Find the server in the row Servers; check its process and its network."),
        steps=rising(bad=ANY), links=(Within("Servers"),),
    )  # fmt: skip


def _streams_without_leader() -> Stat:
    up = _q.now(c.STREAM_UP)
    return _problem(
        "Without leader", up.equals(0).count_by().or_zero(up), "short",
        Guide("Streams without a leader.",
              "Anything above 0: publishes and deliveries fail.",
              "Bring the missing servers back; more than half of the replicas must be up."),
        steps=rising(bad=ANY), links=(Within("What is wrong"),),
    )  # fmt: skip


def _unhealthy_consumers() -> Stat:
    unwell = variables.unwell(_q).count_by()
    return _problem(
        "Unwell consumers", unwell.or_zero(_q.now(c.UP)), "short",
        Guide("Consumers with a condition, other than busy with long jobs.",
              "Anything above 0 that stays. The table below lists them with their verdicts.",
              "Open the worst one from the table Consumers."),
        steps=rising(warn=ANY), links=(Within("Consumers"),),
    )  # fmt: skip


def _messages_lost() -> Stat:
    return _problem(
        "Lost in 24 h", _q.increase(c.CONSUMER_LOST_MESSAGES, "1d").sum_by(), "short",
        Guide("Messages that limits or retention removed before delivery to a consumer.",
              "Anything above 0: that consumer never gets them.",
              "Find the consumer in the table; raise the limits of the stream or speed it up."),
        steps=rising(bad=ANY), decimals=0, no_value="none seen", links=(Within("Consumers"),),
    )  # fmt: skip


def _alerts_firing(title: str, severity: str, steps: tuple[Step, ...]) -> Stat:
    # The watchdog always fires: without it no rules are loaded, and 0 would be wrong.
    watchdog = _q.now(
        external_metrics.ALERTS, alertname=event_annotations.WATCHDOG, alertstate="firing"
    )
    return _problem(
        title, _firing(severity).count_by().or_zero(watchdog), "short",
        Guide(f"Firing alerts of severity {severity}.",
              "Anything above 0. *No rules* means that Prometheus has not loaded ours.",
              "See the row Alerts; each alert has a runbook."),
        steps=steps, no_value="no rules", links=(Within("Alerts over time"),),
    )  # fmt: skip


def _firing(severity: str) -> Expression:
    return _q.now(
        external_metrics.ALERTS,
        alertname=event_annotations.ALERT_NAMES,
        alertstate="firing",
        severity=severity,
    )


def _age_of_the_data(limits: Limits) -> Stat:
    return _problem(
        "Age of the data", _q.least(c.SNAPSHOT_AGE_SECONDS).max_by(), "s",
        Guide("Age of the data of the stalest system, from its freshest exporter.",
              "More than three poll intervals: this board shows old data.",
              _SEE_EXPORTER),
        steps=rising(bad=limits.of(t.SNAPSHOT_AGE)), links=(Target.EXPORTER,),
    )  # fmt: skip


def _complete_polls() -> Stat:
    complete = _q.complete_polls()
    return _problem(
        "Complete polls", complete.sum_by().over(complete.count_by()), "percentunit",
        Guide("Share of the systems all of whose requests got a complete response.",
              "Below 100 %: some metrics are absent, and absent is not zero.",
              _SEE_EXPORTER),
        steps=falling(warn=WHOLE), links=(Target.EXPORTER,),
    )  # fmt: skip


def _sizes() -> tuple[Panel, ...]:
    sizes: tuple[tuple[str, Expression, str, str], ...] = (
        ("All streams", _q.now(c.STREAM_UP).count_by(), "short", "All known streams."),
        ("All consumers", _q.now(c.STREAM_CONSUMERS).sum_by(), "short",
         "Consumers of all streams, ephemeral ones included."),
        ("Publish rate", _q.rate(c.STREAM_STORED_MESSAGES).sum_by(), "mps",
         "Messages stored per second, in all streams."),
        ("Delivery rate", _q.rate(c.CONSUMER_DELIVERIES).sum_by(), "mps",
         "Deliveries per second to all consumers, with redeliveries."),
        ("Messages stored", _q.now(c.STREAM_MESSAGES).sum_by(), "short",
         "Messages in all streams, without replicas."),
        ("Bytes stored", _q.now(c.STREAM_BYTES).sum_by(), "bytes",
         "Size of all streams, without replicas."),
    )  # fmt: skip
    return tuple(_size(*each) for each in sizes)


def _size(title: str, expr: Expression, unit: str, means: str) -> Stat:
    guide = Guide(
        means,
        "A sudden step, or a rate that falls to 0: a publisher or a consumer stopped.",
        "Compare with the hour before; find the stream in the rows below.",
    )
    return tile(title, expr, unit, guide, steps=plain(), width=8)


# --- consumers ------------------------------------------------------------------------------------


def _consumers(limits: Limits) -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Lag of the worst consumers",
            guide=Guide(
                f"Age of the oldest unacknowledged message; the {_FEW} worst consumers of the "
                "shown time.",
                "A line that only rises: the consumer does not catch up. One that nears the "
                "max_age of the stream: messages will be lost.",
                "Click a line and open the consumer.",
            ),
            queries=(Query(_q.highest(external_metrics.LAG_OF_WORST, _FEW), CONSUMER_PATH),),
            unit="s",
            no_value="none, or no rules",
            links=(Target.CONSUMER, Target.STREAM),
        ),
        TimeSeries(
            title="Redelivery of the worst consumers",
            guide=Guide(
                f"Share of redeliveries among the deliveries; the {_FEW} worst of the shown time.",
                "Above the line: work is done twice. Near 100 %: no new messages are delivered.",
                "Open the consumer to find the cause: late acks, naks or poison messages.",
            ),
            queries=(Query(_q.highest(external_metrics.REDELIVERY_OF_WORST, _FEW), CONSUMER_PATH),),
            unit="percentunit",
            steps=rising(bad=limits.of(t.REDELIVERY_RATIO)),
            soft_maximum=0.2,
            no_value="none, or no rules",
            links=(Target.CONSUMER, Target.STREAM),
        ),
        StateTimeline(
            title="Conditions of the worst consumers",
            guide=Guide(
                f"The {_ROWS} conditions of consumers that held longest in the shown time.",
                "A bar that reaches the right end: it holds now. Many short ones: it comes and goes.",
                "Click a bar and open the consumer; its board shows the cause.",
            ),
            queries=(Query(_longest_conditions(), f"{{{{condition}}}} {CONSUMER_PATH}"),),
            mapping=ValueMapping((MappedValue(1, "holds", WARN),)),
            no_value="none",
            width=24,
            height=9,
            links=(Target.CONSUMER,),
        ),
    )


def _longest_conditions() -> Expression:
    start = c.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS
    return _q.lasted_longest(start, _ROWS, condition=variables.NOT_LONG_JOBS)


# --- streams --------------------------------------------------------------------------------------


def _streams() -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Publish rate of the busiest streams",
            guide=Guide(
                f"Messages stored per second; the {_FEW} busiest streams.",
                "A line that falls to 0 while its publishers should publish.",
                "Click a line and open the stream.",
            ),
            queries=(Query(_q.highest(external_metrics.STORED_OF_BUSIEST, _FEW), STREAM_PATH),),
            unit="mps",
            no_value="no rules",
            links=(Target.STREAM, Target.PUBLISH),
        ),
        TimeSeries(
            title="Delivery rate of the busiest consumers",
            guide=Guide(
                f"Deliveries per second; the {_FEW} consumers with most.",
                "A line that falls to 0 while the stream still grows, or one far above the "
                "publish rate of its stream: the same messages are redelivered.",
                "Click a line and open the consumer.",
            ),
            queries=(
                Query(_q.highest(external_metrics.DELIVERIES_OF_BUSIEST, _FEW), CONSUMER_PATH),
            ),
            unit="mps",
            no_value="no rules",
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
            "A red bar is a page. One that comes and goes: a value close to its limit.",
            "Open the runbook of the alert; its asset follows the name.",
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
