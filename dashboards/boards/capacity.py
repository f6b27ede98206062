"""Board of capacity: use, reservations, growth, and the forecast."""

from __future__ import annotations

from alerts import thresholds as t
from dashboards.boards import capacity_forecast
from dashboards.panels import fullness, shared, variables
from dashboards.panels.colours import BAD, WARN, Step, plain, rising
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    BarGauge,
    Board,
    Column,
    Guide,
    Link,
    Override,
    Panel,
    Query,
    Row,
    Stat,
    Table,
    Target,
    TimeSeries,
    Within,
)
from dashboards.panels.tiles import leading, tile
from dashboards.panels.variables import ACCOUNT_PATH, SERVER_PATH, STREAM_PATH, discard_new
from exporter import catalog as c
from exporter.metric import Metric
from streamgauge.promql.expression import Expression

VARIABLES = (
    variables.JOB,
    variables.CLUSTER,
    variables.SYSTEM,
    variables.ACCOUNT,
    variables.STREAM,
    variables.SERVER,
)
_q = variables.scope_of(*VARIABLES)
_FEW = 10
_ROWS = 50
_GROWTH_WINDOW = "6h"
_LEADS: dict[str, Link] = {
    "Fullest server, files": Within("File storage used"),
    "Fullest server, memory": Within("Memory storage of servers"),
    "Fullest account": Within("Accounts against their limits"),
    "Fullest stream, discard new": Within("Streams with discard new"),
    "First full, by forecast": Within("Streams by date"),
    "Age of the forecast": Target.EXPORTER,
}


def board(limits: Limits) -> Board:
    return Board(
        key="capacity",
        title="Capacity and forecast",
        description="What is used, what is reserved, what grows, and when it will be full.",
        variables=VARIABLES,
        rows=(
            Row("How full is it?", leading(_stats(limits), _LEADS)),
            Row("Servers", _servers(limits)),
            Row("Accounts", _accounts(limits)),
            Row("Streams", _streams(limits)),
            Row("Forecast", capacity_forecast.panels(_q, limits)),
        ),
        hours=30 * 24,
        refresh="5m",
    )


# --- stats ----------------------------------------------------------------------------------------


def _stats(limits: Limits) -> tuple[Panel, ...]:
    files, memory = fullness.of_server_files(_q), fullness.of_server_memory(_q)
    account = _q.now(c.ACCOUNT_STORAGE_USED_BYTES).over(_q.now(c.ACCOUNT_STORAGE_LIMIT_BYTES))
    stream = fullness.of_stream(_q).where(discard_new(_q))
    server_line = fullness.server_steps(limits)
    account_lines = fullness.account_steps(limits)
    stream_lines = fullness.stream_steps(limits)
    return (
        _fullest("Fullest server, files", files, server_line, "max_file_store"),
        _fullest("Fullest server, memory", memory, server_line, "max_memory_store"),
        _fullest("Fullest account", account, account_lines, "its storage limit", "no limits"),
        _fullest("Fullest stream, discard new", stream, stream_lines,
                 "its limit of bytes or messages, of streams with discard new",
                 "no discard new"),
        tile("First full, by forecast", capacity_forecast.until_full(_q).min_by(), "s",
             Guide("Time until the first stream is full, by the median forecast.",
                   "Below the threshold: act now, a larger disk takes days.",
                   "The table Streams by date lists it."),
             steps=capacity_forecast.soon(limits), no_value="no forecast", width=8),
        tile("Age of the forecast", _q.age(c.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS), "s",
             Guide("Time since a rollup last succeeded.",
                   "Above the threshold: the forecast is stale, the job does not run.",
                   "Check the log of the rollup job."),
             steps=rising(bad=limits.of(t.ROLLUP_AGE)), no_value="no rollups", width=8),
    )  # fmt: skip


def _fullest(
    title: str, expr: Expression, steps: tuple[Step, ...], of_what: str, no_value: str = "no data"
) -> Stat:
    guide = Guide(
        f"The largest share in use of {of_what}.",
        "Coloured: publishes will be rejected, or unread messages discarded.",
        "Find it in the rows below; raise its limit or store less.",
    )
    return tile(title, expr.max_by(), "percentunit", guide, steps=steps, no_value=no_value, width=8)


# --- servers --------------------------------------------------------------------------------------


def _servers(limits: Limits) -> tuple[Panel, ...]:
    return (
        _used_reserved_max(
            "File storage of servers", SERVER_PATH,
            (c.SERVER_STORAGE_USED_BYTES, c.SERVER_STORAGE_RESERVED_BYTES,
             c.SERVER_STORAGE_MAX_BYTES),
        ),
        _used_reserved_max(
            "Memory storage of servers", SERVER_PATH,
            (c.SERVER_MEMORY_USED_BYTES, c.SERVER_MEMORY_RESERVED_BYTES,
             c.SERVER_MEMORY_MAX_BYTES),
        ),
        BarGauge(
            title="File storage used",
            guide=Guide(
                "Share of its file storage that each server uses.",
                f"Above {limits.value(t.SERVER_STORAGE_RATIO):.0%}.",
                "Move streams away, or give the server more disk.",
            ),
            queries=(Query(fullness.of_server_files(_q), SERVER_PATH),),
            unit="percentunit",
            maximum=1,
            steps=fullness.server_steps(limits),
        ),
        BarGauge(
            title="Raft groups of servers",
            guide=Guide(
                "Replicated streams and consumers with a replica on each server.",
                "Thousands: each costs heartbeats and memory, even when idle.",
                "Use fewer replicated consumers; merge small streams.",
            ),
            queries=(Query(_q.now(c.SERVER_HA_ASSETS), SERVER_PATH),),
            steps=plain(),
            no_value="not clustered",
        ),
        TimeSeries(
            title="Growth of servers",
            guide=Guide(
                f"Change of the file storage in use, per second, over {_GROWTH_WINDOW}.",
                "A line that stays above 0 for days.",
                "The table Streams that grow most lists the streams.",
            ),
            queries=(
                Query(_q.growth(c.SERVER_STORAGE_USED_BYTES, _GROWTH_WINDOW), SERVER_PATH),
            ),
            unit="Bps",
            minimum=None,
            width=8,
        ),
    )  # fmt: skip


def _used_reserved_max(title: str, path: str, metrics: tuple[Metric, ...]) -> TimeSeries:
    names = ("used", "reserved", "maximum")
    return TimeSeries(
        title=title,
        guide=Guide(
            "In use, reserved for streams by their max_bytes, and the maximum.",
            "Reserved above the maximum: not all streams can reach their max_bytes.",
            "Lower max_bytes where it is not needed, or raise the maximum.",
        ),
        queries=tuple(
            Query(_q.now(metric), f"{name} {path}")
            for name, metric in zip(names, metrics, strict=True)
        ),
        unit="bytes",
        overrides=(
            Override("/^maximum/", BAD, dashed=True),
            Override("/^reserved/", WARN, dashed=True),
        ),
    )


# --- accounts -------------------------------------------------------------------------------------


def _accounts(limits: Limits) -> tuple[Panel, ...]:
    used, limit = c.ACCOUNT_STORAGE_USED_BYTES, c.ACCOUNT_STORAGE_LIMIT_BYTES
    largest = _q.peak(used).top(_FEW)
    identity = (*c.ACCOUNT, "tier")
    share = _q.now(used).over(_q.now(limit))
    memory = _q.now(c.ACCOUNT_MEMORY_USED_BYTES).over(_q.now(c.ACCOUNT_MEMORY_LIMIT_BYTES))
    lines = fullness.account_steps(limits)
    return (
        TimeSeries(
            title="File storage of accounts",
            guide=Guide(
                f"Use of the {_FEW} largest accounts in the whole system, with replicas, and their "
                "limits.",
                "A line that meets its dashed limit: publishes of the account are rejected.",
                "Raise the limit of the account, or store less.",
            ),
            queries=(
                Query(_q.now(used).where(largest), f"used {ACCOUNT_PATH} {{{{tier}}}}"),
                Query(_q.now(limit).where(largest), f"limit {ACCOUNT_PATH} {{{{tier}}}}"),
            ),
            unit="bytes",
            overrides=(Override("/^limit/", BAD, dashed=True),),
            width=8,
        ),
        Table(
            title="Accounts against their limits",
            guide=Guide(
                "Use and limits of each account; an empty cell is unlimited or unknown.",
                "A coloured share: soon publishes of the account are rejected.",
                "Raise the limit of the account, or store less.",
            ),
            identity=identity,
            columns=(
                Column("Files used", _q.now(used), "bytes"),
                Column("Files reserved", _q.now(c.ACCOUNT_STORAGE_RESERVED_BYTES), "bytes"),
                Column("Files limit", _q.now(limit), "bytes"),
                Column("Files", share, "percentunit", lines, bar=True),
                Column("Memory used", _q.now(c.ACCOUNT_MEMORY_USED_BYTES), "bytes"),
                Column("Memory reserved", _q.now(c.ACCOUNT_MEMORY_RESERVED_BYTES), "bytes"),
                Column("Memory", memory, "percentunit", lines, bar=True),
                Column("Streams", _q.now(c.ACCOUNT_STREAMS)),
                Column("Streams limit", _q.now(c.ACCOUNT_STREAMS_LIMIT)),
                Column("Consumers", _q.now(c.ACCOUNT_CONSUMERS)),
                Column("Consumers limit", _q.now(c.ACCOUNT_CONSUMERS_LIMIT)),
            ),
            sort_by="Files used",
            width=16,
            height=8,
        ),
    )


# --- streams --------------------------------------------------------------------------------------


def _streams(limits: Limits) -> tuple[Panel, ...]:
    fill = fullness.of_stream(_q).where(discard_new(_q))
    growth = _q.growth(c.STREAM_BYTES, _GROWTH_WINDOW)
    growing = (growth > 0).top(_ROWS)
    left = _q.now(c.STREAM_MAX_BYTES) - _q.now(c.STREAM_BYTES)
    until_full = left.over(growth).where(growing)
    return (
        BarGauge(
            title="Streams with discard new",
            guide=Guide(
                f"The {_FEW} of them that use most of their limit of bytes or messages. Streams "
                "with discard old are full by design and not listed.",
                "Coloured: at 100 % every publish is rejected.",
                "Raise the limit, or store less.",
            ),
            queries=(Query(fill.top(_FEW), f"{STREAM_PATH} {{{{limit}}}}"),),
            unit="percentunit",
            maximum=1,
            steps=fullness.stream_steps(limits),
            links=(Target.STREAM,),
            no_value="no discard new",
            width=10,
            height=10,
        ),
        Table(
            title="Streams that grow most",
            guide=Guide(
                f"Growth over the last {_GROWTH_WINDOW} of the {_ROWS} streams that grow most, "
                "and how long until the limit at this pace.",
                "A short time left. Only streams with discard new have one.",
                "Click the stream; the forecast below has a longer horizon and weekly seasonality.",
            ),
            identity=c.STREAM,
            columns=(
                Column("Growth", growing, "Bps"),
                Column("Size", _q.now(c.STREAM_BYTES).where(growing), "bytes"),
                Column("Limit", _q.now(c.STREAM_MAX_BYTES).where(growing), "bytes"),
                # A stream with discard old is never too full.
                Column("Full in, by trend", until_full.where(discard_new(_q)), "s",
                       capacity_forecast.soon(limits)),
            ),
            sort_by="Growth",
            links=(Target.STREAM,),
            width=14,
            height=10,
        ),
        shared.audit_findings(
            _q,
            c.STREAM_CONFIG_FINDINGS,
            "Findings of the audit on the chosen streams, by check.",
            title="Findings of the audit on streams",
            most=_ROWS,
            links=(Target.STREAM,),
            height=8,
        ),
    )  # fmt: skip
