"""Board of the exporter, the archive and the rollups: is the data complete and fresh?"""

from __future__ import annotations

from functools import partial

from alerts import thresholds as t
from dashboards import external_metrics
from dashboards.boards import exporter_storage
from dashboards.panels import shared, variables
from dashboards.panels.colours import (
    ANY,
    BAD,
    OK,
    UP_MAPPING,
    WHOLE,
    YES_IS_GOOD,
    MappedValue,
    ValueMapping,
    falling,
    rising,
)
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    Board,
    Column,
    Guide,
    Link,
    Panel,
    Query,
    Row,
    StateTimeline,
    StatusPage,
    Table,
    TimeSeries,
    Within,
)
from dashboards.panels.tiles import leading, tile
from exporter import catalog as c
from streamgauge.promql.expression import Expression

VARIABLES = (variables.JOB, variables.CLUSTER, variables.SYSTEM, variables.EXPORTER)
_q = variables.scope_of(*VARIABLES)
_third = partial(tile, width=8)  # three in a line
_INSTANCE = "{{job}} {{instance}}"
_OF_SYSTEM = "{{system}} {{instance}}"
_LEADS: dict[str, Link] = {
    "Exporters up": Within("Complete polls over time"),
    "Complete polls": Within("Complete polls over time"),
    "Age of the data": Within("Age of the served data"),
    "Failing requests": Within("Requests"),
    "Poll errors": Within("Errors by reason"),
    "Series dropped": Within("Series dropped over time"),
    "Config loaded": StatusPage(),
    "Last reload": StatusPage(),
    "Series served": Within("Series of each system"),
}


def board(limits: Limits) -> Board:
    return Board(
        key="exporter",
        title="Exporter and pipeline",
        description="Is the data of the boards complete and fresh?",
        variables=VARIABLES,
        rows=(
            Row("Is the data complete?", leading(_stats(limits), _LEADS)),
            Row("Polls", _polls(limits)),
            Row("Requests", _requests()),
            Row("Events", _events()),
            Row("Process", _process()),
            Row("Archive", exporter_storage.archive(_q, limits), collapsed=True),
            Row("Rollups", exporter_storage.rollups(_q, limits), collapsed=True),
        ),
    )


# --- stats ----------------------------------------------------------------------------------------


def _stats(limits: Limits) -> tuple[Panel, ...]:
    up = _q.now(c.UP)
    targets = _q.each_target(external_metrics.TARGET_UP).where(_q.own_targets())
    success, complete = _q.now(c.REQUEST_SUCCESS), _q.complete_polls()
    errors = _q.increase(c.POLL_ERRORS).sum_by().or_zero(up)
    dropped = _q.increase(c.SERIES_DROPPED).sum_by()
    return (
        _third("Exporters up", targets.min_by(), "none",
               Guide("Whether every exporter seen in the shown time is scraped now.",
                     "Down: alerts and boards of its systems have no data.",
                     "Check the process, and the page Targets of Prometheus."),
               mapping=UP_MAPPING),
        _third("Complete polls", complete.sum_by().over(complete.count_by()), "percentunit",
               Guide("Share of the systems all of whose requests got a complete response.",
                     "Below 100 %: some metrics are absent, and absent is not zero.",
                     "The row Requests shows which request failed, and why."),
               steps=falling(warn=WHOLE)),
        _third("Age of the data", _q.least(c.SNAPSHOT_AGE_SECONDS).max_by(), "s",
               Guide("Age of the data of the stalest system, from its freshest exporter.",
                     "Above three poll intervals its series are dropped.",
                     "Check whether polls fail or take too long."),
               steps=rising(bad=limits.of(t.SNAPSHOT_AGE))),
        _third("Failing requests", success.equals(0).count_by().or_zero(success), "short",
               Guide("Requests that failed or got an incomplete response in the last poll.",
                     "Anything above 0 that stays.",
                     "The table Requests lists them; the graph beside it shows the reason."),
               steps=rising(warn=ANY)),
        _third("Poll errors", errors, "short",
               Guide("Errors of polls in the shown time.",
                     "A number that grows with every poll.",
                     "See Errors by reason."),
               decimals=0),
        _third("Series dropped", dropped, "short",
               Guide("Series dropped because the cap was reached, in the shown time.",
                     "Anything above 0: the metrics are incomplete.",
                     "Raise the cap, or exclude unused metrics and assets."),
               steps=rising(bad=ANY), decimals=0),
        _third("Config loaded", _q.each_target(c.CONFIG_LAST_RELOAD_SUCCESS).min_by(), "none",
               Guide("Whether the last configuration reload of every exporter succeeded.",
                     "No: it still uses the one before.",
                     "Its log names the key; correct the file and reload."),
               mapping=YES_IS_GOOD),
        _third("Last reload", _q.age(c.CONFIG_LAST_RELOAD_TIMESTAMP_SECONDS).min_by(), "s",
               Guide("Time since an exporter last loaded its configuration.",
                     "Older than your last change: that change is not in use.",
                     "Reload it, and check Configuration loaded.")),
        _third("Series served", _q.now(c.SERIES).sum_by(), "short",
               Guide("Series of all systems, of one exporter each.",
                     "A sudden step: streams or consumers appeared by the thousands.",
                     "Check for ephemeral consumers on the board Stream.")),
    )  # fmt: skip


# --- polls ----------------------------------------------------------------------------------------


def _polls(limits: Limits) -> tuple[Panel, ...]:
    return (
        StateTimeline(
            title="Complete polls over time",
            guide=Guide(
                "Whether the last poll of each system was complete, for each exporter.",
                "A red bar: a server is down, or a request fails.",
                "The row Requests shows which.",
            ),
            queries=(Query(_q.each_target(c.UP), _OF_SYSTEM),),
            mapping=ValueMapping(
                (MappedValue(0, "incomplete", BAD), MappedValue(1, "complete", OK))
            ),
            width=8,
        ),
        TimeSeries(
            title="Age of the served data",
            guide=Guide(
                "Age of the data that each exporter serves.",
                "Above the line: its series are dropped, and alerts do not fire on them.",
                "Check the duration of polls, then the load of the server.",
            ),
            queries=(Query(_q.each_target(c.SNAPSHOT_AGE_SECONDS), _OF_SYSTEM),),
            unit="s",
            steps=rising(bad=limits.of(t.SNAPSHOT_AGE)),
            width=8,
        ),
        TimeSeries(
            title="Duration of polls",
            guide=Guide(
                "Duration of the last poll, from its first request to the rendered metrics.",
                "It comes near the poll interval.",
                "Find the slow request; poll less often, or filter.",
            ),
            queries=(Query(_q.each_target(c.POLL_DURATION_SECONDS), _OF_SYSTEM),),
            unit="s",
            width=8,
        ),
        *_series(),
    )


def _series() -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Servers responding",
            guide=Guide(
                "Servers that should respond, and that responded to the last poll.",
                "Responding below expected.",
                "The board Fleet lists the server.",
            ),
            queries=(
                Query(_q.now(c.SERVERS_EXPECTED), "expected {{system}}"),
                Query(_q.now(c.SERVERS_RESPONDING), "responding {{system}}"),
            ),
            width=8,
            height=6,
        ),
        TimeSeries(
            title="Series of each system",
            guide=Guide(
                "Series served for each system, after filters, levels and the cap.",
                "A step to the cap.",
                "Find what was created; ephemeral consumers are the usual cause.",
            ),
            queries=(Query(_q.each_target(c.SERIES), _OF_SYSTEM),),
            width=8,
            height=6,
        ),
        TimeSeries(
            title="Series dropped over time",
            guide=Guide(
                "Series dropped per second because the cap was reached.",
                "Anything above 0.",
                "Raise the cap, or exclude unused metrics and assets.",
            ),
            queries=(Query(_q.rate(c.SERIES_DROPPED), "{{system}}"),),
            unit="cps",
            width=8,
            height=6,
        ),
    )


# --- requests -------------------------------------------------------------------------------------


def _requests() -> tuple[Panel, ...]:
    identity = c.REQUEST_SUCCESS.labels
    return (
        Table(
            title="Requests",
            guide=Guide(
                "Requests to each system: whether the last response was complete, and its duration.",
                "No: every metric of this request is absent.",
                "Permission: see the list of permissions. Timeout: check the load of the server.",
            ),
            identity=identity,
            columns=(
                Column("Complete", _q.now(c.REQUEST_SUCCESS), "none", mapping=YES_IS_GOOD),
                Column("Duration", _q.now(c.REQUEST_DURATION_SECONDS), "s"),
                Column("Errors", _q.increase(c.POLL_ERRORS).sum_by(*identity),
                       steps=rising(warn=ANY)),
            ),
            sort_by="Complete",
            ascending=True,
            width=10,
        ),
        TimeSeries(
            title="Errors by reason",
            guide=Guide(
                "Errors of polls per second, by request and reason.",
                "Errors that last.",
                "Timeout: server or network is slow. Permission: the user may not send it.",
            ),
            queries=(
                Query(_q.busiest(c.POLL_ERRORS, 15), "{{system}} {{request}}: {{reason}}"),
            ),
            unit="cps",
            no_value="none seen",
            width=7,
            height=10,
        ),
        shared.skipped_requests(
            _q,
            Guide(
                "Requests that the exporter skips by design, and why.",
                "Their metrics are absent: the request would cost the server too much, is not "
                "permitted, or its response is too large.",
                "Ceiling and size: raise them in the configuration if the load of the server allows it.",
            ),
            width=7,
            height=10,
        ),
    )  # fmt: skip


# --- events ---------------------------------------------------------------------------------------


def _events() -> tuple[Panel, ...]:
    advisories = _q.rate(c.ADVISORIES).sum_by("system", "kind")
    return (
        TimeSeries(
            title="Advisories received",
            guide=Guide(
                "Advisories per second, by kind.",
                "Very many of one kind: see the board of the consumer or stream.",
                "Naks and max_deliver: check the workers. Lost quorum: check the servers.",
            ),
            queries=(Query(advisories.top(20), "{{system}} {{kind}}"),),
            unit="cps",
            no_value="not subscribed: set events in the exporter",
            width=8,
        ),
        TimeSeries(
            title="Advisories subscribed for",
            guide=Guide(
                "Time since each exporter subscribed. Without a subscription event counters are "
                "constant.",
                "It falls to 0 again and again: the connection is not stable.",
                "Check the log of the exporter.",
            ),
            queries=(Query(_q.age(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS), "{{system}}"),),
            unit="s",
            no_value="not subscribed: set events in the exporter",
            width=8,
        ),
        TimeSeries(
            title="Events dropped",
            guide=Guide(
                "Messages per second that the publish-ack tap was too slow for, and events about "
                "invented streams or consumers.",
                "Anything above 0: the tap counts too low, or a client forges events.",
                "Tap fewer streams; deny clients to publish below $JS.EVENT.",
            ),
            queries=(
                Query(_q.rate(c.PUBLISH_ACK_TAP_DROPPED), "tap {{system}}"),
                Query(_q.rate(c.EVENTS_DROPPED), "invented {{system}}"),
            ),
            unit="mps",
            no_value="none",
            width=8,
        ),
    )


# --- process --------------------------------------------------------------------------------------


def _process() -> tuple[Panel, ...]:
    ours = _q.own_targets()
    files = _q.each_target(external_metrics.PROCESS_FILES).over(
        _q.each_target(external_metrics.PROCESS_FILES_LIMIT)
    )
    return (
        _graph("CPU", _q.rate(external_metrics.PROCESS_CPU).where(ours), "percentunit",
               "Share of one core that the exporter uses.",
               "Near 100 %: polls become late.", "Poll less often, or filter streams."),
        _graph("Memory", _q.each_target(external_metrics.PROCESS_MEMORY).where(ours), "bytes",
               "Resident memory of the exporter.",
               "It grows all the time.", "Compare with the number of series; report a leak."),
        _graph("File handles", files.where(ours), "percentunit",
               "Share of the permitted file handles that is open.",
               "Near 100 %: new scrapes fail.", "Raise the limit of the process."),
        _graph("Duration of scrapes", _q.each_target(external_metrics.SCRAPE_DURATION).where(ours), "s",
               "How long Prometheus took to scrape each exporter.",
               "It comes near the scrape timeout.", "Exclude unused metrics and assets."),
        _graph("Samples per scrape", _q.each_target(external_metrics.SCRAPE_SAMPLES).where(ours), "short",
               "Samples of each scrape.",
               "A step to the sample limit of Prometheus: it then rejects the whole scrape.",
               "Raise the limit, or exclude unused metrics and assets."),
    )  # fmt: skip


def _graph(title: str, expr: Expression, unit: str, means: str, bad: str, do: str) -> TimeSeries:
    return TimeSeries(
        title=title,
        guide=Guide(means, bad, do),
        queries=(Query(expr, _INSTANCE),),
        unit=unit,
        width=8,
        height=6,
    )
