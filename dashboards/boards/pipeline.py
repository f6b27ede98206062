"""The exporter, the archive and the rollups about themselves: is what the boards show the truth?"""

from __future__ import annotations

from alerts import thresholds as t
from dashboards import external_metrics
from dashboards.boards import pipeline_storage
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
    Panel,
    Query,
    Row,
    StateTimeline,
    Table,
    TimeSeries,
)
from dashboards.panels.tiles import tile
from dashboards.queries import own_targets
from exporter import catalog as c
from streamgauge.promql.expression import Expression

VARIABLES = (variables.JOB, variables.SYSTEM)
_q = variables.scope_of(*VARIABLES)
_INSTANCE = "{{job}} {{instance}}"
_OF_SYSTEM = "{{system}} {{instance}}"


def board(limits: Limits) -> Board:
    return Board(
        key="exporter",
        title="Exporter and pipeline",
        description="Is what the boards show complete, fresh and true?",
        variables=VARIABLES,
        rows=(
            Row("Can the boards be trusted?", _stats(limits)),
            Row("Polls", _polls(limits)),
            Row("Questions", _questions()),
            Row("Events", _events()),
            Row("Process", _process()),
            Row("Archive", pipeline_storage.archive(_q, limits), collapsed=True),
            Row("Rollups", pipeline_storage.rollups(_q, limits), collapsed=True),
        ),
    )


# --- stats ----------------------------------------------------------------------------------------


def _stats(limits: Limits) -> tuple[Panel, ...]:
    up = _q.now(c.UP)
    targets = _q.each_target(external_metrics.TARGET_UP).where(own_targets())
    success = _q.now(c.QUESTION_SUCCESS)
    errors = _q.increase(c.POLL_ERRORS).sum_by().or_zero(up)
    dropped = _q.increase(c.SERIES_DROPPED).sum_by()
    return (
        tile("Exporters up", targets.min_by(), "none",
             Guide("Whether every exporter seen in the shown time is scraped now.",
                   "Down: alerts and boards of its systems go blind.",
                   "Look at the process and at Prometheus' page Targets."),
             mapping=UP_MAPPING),
        tile("Complete polls", up.sum_by().over(up.count_by()), "percentunit",
             Guide("Share of the systems whose last poll was answered in full.",
                   "Below 100 %: some numbers are absent, and absent is not zero.",
                   "The row Questions tells which question failed, and why."),
             steps=falling(warn=WHOLE)),
        tile("Age of the data", _q.least(c.SNAPSHOT_AGE_SECONDS).max_by(), "s",
             Guide("How old the data of the stalest system is, from its freshest exporter.",
                   "Above three poll intervals its series are dropped.",
                   "Look whether polls fail or take too long."),
             steps=rising(bad=limits.of(t.SNAPSHOT_AGE))),
        tile("Questions failing", success.equals(0).count_by().or_zero(success), "short",
             Guide("Questions that were not answered in full when last asked.",
                   "Anything above 0 that stays.",
                   "The table Questions names them; the reason stands in the graph beside it."),
             steps=rising(warn=ANY)),
        tile("Faults", errors, "short",
             Guide("Faults met while polling in the shown time.",
                   "A number that grows with every poll.",
                   "See Faults by reason."),
             decimals=0),
        tile("Series left out", dropped, "short",
             Guide("Series left out because the cap was reached, in the shown time.",
                   "Anything above 0: what is served is not the whole picture.",
                   "Raise the cap, or leave out what nobody looks at."),
             steps=rising(bad=ANY), decimals=0),
        tile("Settings read", _q.each_target(c.CONFIG_LAST_RELOAD_SUCCESS).min_by(), "none",
             Guide("Whether every exporter read its configuration with success when last told to.",
                   "No: it still works with the one before.",
                   "Its log names the key; correct the file and reload."),
             mapping=YES_IS_GOOD),
        tile("Series served", _q.now(c.SERIES).sum_by(), "short",
             Guide("Series that are served for all systems, by one exporter each.",
                   "A sudden step: streams or consumers appeared by the thousands.",
                   "Look for ephemeral consumers on the board Stream.")),
    )  # fmt: skip


# --- polls ----------------------------------------------------------------------------------------


def _polls(limits: Limits) -> tuple[Panel, ...]:
    return (
        StateTimeline(
            title="Polls answered in full",
            guide=Guide(
                "Whether the last poll of each system was complete, for each exporter.",
                "A red bar: a server is down, or a question fails.",
                "The row Questions tells which.",
            ),
            queries=(Query(_q.each_target(c.UP), _OF_SYSTEM),),
            mapping=ValueMapping(
                (MappedValue(0, "incomplete", BAD), MappedValue(1, "complete", OK))
            ),
            width=8,
        ),
        TimeSeries(
            title="Age of what is served",
            guide=Guide(
                "Age of the data that each exporter serves.",
                "Above the line: its series are dropped, and alerts do not judge them.",
                "Look at the duration of polls, then at the server's load.",
            ),
            queries=(Query(_q.each_target(c.SNAPSHOT_AGE_SECONDS), _OF_SYSTEM),),
            unit="s",
            steps=rising(bad=limits.of(t.SNAPSHOT_AGE)),
            width=8,
        ),
        TimeSeries(
            title="Duration of polls",
            guide=Guide(
                "How long the last poll took, from its first question to the finished page.",
                "It comes near the poll interval.",
                "See which question takes long; poll less often, or filter.",
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
            title="Servers expected and answering",
            guide=Guide(
                "Servers that ought to answer, and that answered the last poll.",
                "Answering below expected.",
                "The board Fleet names the server.",
            ),
            queries=(
                Query(_q.now(c.SERVERS_EXPECTED), "expected {{system}}"),
                Query(_q.now(c.SERVERS_ANSWERED), "answering {{system}}"),
            ),
            width=8,
            height=6,
        ),
        TimeSeries(
            title="Series of each system",
            guide=Guide(
                "Series served for each system, after filters, levels and the cap.",
                "A step to the cap.",
                "Look what appeared; ephemeral consumers are the usual cause.",
            ),
            queries=(Query(_q.each_target(c.SERIES), _OF_SYSTEM),),
            width=8,
            height=6,
        ),
        TimeSeries(
            title="Series left out, over time",
            guide=Guide(
                "Series left out per second because the cap was reached.",
                "Anything above 0.",
                "Raise the cap, or leave out what nobody looks at.",
            ),
            queries=(Query(_q.rate(c.SERIES_DROPPED), "{{system}}"),),
            unit="cps",
            width=8,
            height=6,
        ),
    )


# --- questions ------------------------------------------------------------------------------------


def _questions() -> tuple[Panel, ...]:
    identity = c.QUESTION_SUCCESS.labels
    return (
        Table(
            title="Questions",
            guide=Guide(
                "What is asked of each system: whether the last answer was whole, and its time.",
                "No: every number that hangs on this question is absent.",
                "Permission: see the list of permissions. Timeout: look at the server's load.",
            ),
            identity=identity,
            columns=(
                Column("Answered", _q.now(c.QUESTION_SUCCESS), "none", mapping=YES_IS_GOOD),
                Column("Took", _q.now(c.QUESTION_DURATION_SECONDS), "s"),
                Column("Faults", _q.increase(c.POLL_ERRORS).sum_by(*identity),
                       steps=rising(warn=ANY)),
            ),
            sort_by="Answered",
            ascending=True,
            width=8,
        ),
        TimeSeries(
            title="Faults by reason",
            guide=Guide(
                "Faults met while polling, per second, by question and reason.",
                "A flow that lasts.",
                "Timeout: server or network is slow. Permission: the user may not ask it.",
            ),
            queries=(
                Query(_q.busiest(c.POLL_ERRORS, 15), "{{system}} {{question}}: {{reason}}"),
            ),
            unit="cps",
            no_value="none seen",
            width=8,
            height=10,
        ),
        shared.questions_left_out(
            _q,
            Guide(
                "Questions that are left out on purpose, and why.",
                "What hangs on them is absent: it would cost the server too much, is not "
                "permitted, or its answer is too large.",
                "Ceiling and size: raise them in the configuration if the server can bear it.",
            ),
            height=10,
        ),
    )  # fmt: skip


# --- events ---------------------------------------------------------------------------------------


def _events() -> tuple[Panel, ...]:
    advisories = _q.rate(c.ADVISORIES).sum_by("system", "kind")
    return (
        TimeSeries(
            title="Advisories heard",
            guide=Guide(
                "Advisories per second, by kind.",
                "A flood of one kind: the board of the consumer or stream tells more.",
                "Naks and max_deliver: look at the clients. Lost quorum: look at the servers.",
            ),
            queries=(Query(advisories.top(20), "{{system}} {{kind}}"),),
            unit="cps",
            no_value="not heard",
            width=8,
        ),
        TimeSeries(
            title="Advisories heard without a break for",
            guide=Guide(
                "How long each exporter has been listening. Event counters stand still while "
                "nobody listens.",
                "It falls to 0 again and again: the connection is not stable.",
                "Look at the exporter's log.",
            ),
            queries=(Query(_q.age(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS), "{{system}}"),),
            unit="s",
            no_value="not heard",
            width=8,
        ),
        TimeSeries(
            title="Publish-ack tap overrun",
            guide=Guide(
                "Messages per second that the tap could not take in time.",
                "Anything above 0: duplicates and rejections are counted too low.",
                "Tap fewer streams.",
            ),
            queries=(Query(_q.rate(c.PUBLISH_ACK_TAP_DROPPED), "{{system}}"),),
            unit="mps",
            no_value="not heard",
            width=8,
        ),
    )


# --- process --------------------------------------------------------------------------------------


def _process() -> tuple[Panel, ...]:
    ours = own_targets()
    files = _q.each_target(external_metrics.PROCESS_FILES).over(
        _q.each_target(external_metrics.PROCESS_FILES_LIMIT)
    )
    return (
        _graph("Processor", _q.rate(external_metrics.PROCESS_CPU).where(ours), "percentunit",
               "Share of one core that the exporter uses.",
               "Near 100 %: polls become late.", "Poll less often, or filter streams."),
        _graph("Memory", _q.each_target(external_metrics.PROCESS_MEMORY).where(ours), "bytes",
               "Resident memory of the exporter.",
               "It grows without end.", "Compare with the number of series; report a leak."),
        _graph("File handles", files.where(ours), "percentunit",
               "Share of the permitted file handles that is open.",
               "Near 100 %: new scrapes are refused.", "Raise the limit of the process."),
        _graph("Duration of scrapes", _q.each_target(external_metrics.SCRAPE_DURATION).where(ours), "s",
               "How long Prometheus took to scrape each exporter.",
               "It comes near the scrape timeout.", "Leave out what nobody looks at."),
        _graph("Samples per scrape", _q.each_target(external_metrics.SCRAPE_SAMPLES).where(ours), "short",
               "Samples that each scrape brought.",
               "A step to Prometheus' sample limit: the whole scrape is then refused.",
               "Raise the limit, or leave out what nobody looks at."),
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
