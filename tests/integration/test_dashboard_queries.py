"""Every query of every board on a real Prometheus that scrapes two exporters on a living cluster."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import aiohttp
import pytest
import pytest_asyncio
from support.grafana.boards import BOARDS, Json, panels, variables
from support.grafana.promql import filled, selectors
from support.grafana.query import Prometheus, Window
from support.grafana.stack import JOB, SYSTEM, Stage, stage
from support.nats.servers import connected
from support.waiting import until

from dashboards import external_metrics
from dashboards.panels.colours import UNHEALTHY
from dashboards.panels.empty_timelines import EMPTY
from exporter import catalog
from exporter.metric import Origin
from streamgauge.demo.processes.programs import prometheus as find_prometheus

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHOWN_SECONDS: Final = 60.0
STEP_SECONDS: Final = 2.0
EXPORTERS: Final = 2
SERVERS: Final = 3

# What may find nothing here, and why. First by where the catalogue says that a metric comes from:
ORIGINS_EXCUSED: Final = {
    Origin.EVENT: "an event must happen first, and be received",
    Origin.ARCHIVE: "no archive runs here",
    Origin.ROLLUP: "no rollup runs here",
}
# then single metrics, which only some systems or some moments have.
METRICS_EXCUSED: Final = {
    **{counter.name: "an event must happen first" for counter in catalog.EVENT_TIMES},
    "ALERTS": "alerts take minutes to fire, on purpose",
    catalog.POLL_ERRORS.name: "a fault that never occurred has no series",
    catalog.REQUEST_SKIPPED.name: "nothing is left out on a small cluster",
    catalog.STREAM_REPLICA_DIVERGENCE_MESSAGES.name: "present only while copies differ",
    catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES.name: "present only while a stream went back",
    catalog.CONSUMER_PAUSED.name: "no consumer was ever paused here",
    catalog.ACCOUNT_SLOW_CONSUMERS.name: "only the account source requests it",
    catalog.STREAM_LOST_MESSAGES.name: "servers report it only after damage",
    catalog.STREAM_CONFIG_FINDINGS.name: "the audit speaks only of what it finds",
    catalog.CONSUMER_CONFIG_FINDING.name: "the audit speaks only of what it finds",
    catalog.ACCOUNT_STORAGE_RESERVED_BYTES.name: "not every source reports it",
    catalog.ACCOUNT_MEMORY_RESERVED_BYTES.name: "not every source reports it",
    catalog.ACCOUNT_STREAMS_LIMIT.name: "no account here limits its streams",
    catalog.ACCOUNT_CONSUMERS_LIMIT.name: "no account here limits its consumers",
    catalog.FORECAST_FILE_SUCCESS.name: "no forecast file is configured here",
    catalog.STREAM_MAX_CONSUMERS.name: "no stream here limits its consumers",
    catalog.CONSUMER_REDELIVERY_CAUSE.name: "needs redeliveries that were watched for a while",
    external_metrics.REDELIVERY_OF_WORST.name: "present only while messages are redelivered",
    catalog.STREAM_DEDUPE_EXACT.name: "needs a round of publish accounting",
}

# and parts of a query; tests/promtool/test_board_ratios.py has the values of such rates.
PARTS_EXCUSED: Final = {
    "offset 5m": "a rate that is known only after five minutes",
    f"vector({EMPTY}) unless": "draws why a timeline is empty, so nothing where it is not",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    programs = await asyncio.to_thread(find_prometheus)
    if programs is None:
        pytest.skip("Prometheus cannot be had here")
    folder: Path = tmp_path_factory.mktemp("stage")
    async with stage(programs, folder, exporters=EXPORTERS) as found:
        await _until_scraped(found.prometheus)
        yield found


async def _until_scraped(address: str) -> None:
    """Both exporters, with all servers and some consumer: no test is the first to wait for that."""
    expr = f"{catalog.SERVER_START_TIMESTAMP_SECONDS.name} and on () {catalog.CONSUMER_UP.name}"
    async with aiohttp.ClientSession() as session:
        context = Prometheus(address, session)

        async def servers() -> int:
            target = {"expr": expr, "instant": True, "refId": "A"}
            return len(await context.target(target, window()))

        await until(servers, lambda seen: seen == EXPORTERS * SERVERS, "not all is scraped")


@pytest_asyncio.fixture(loop_scope="module")
async def prometheus(running: Stage) -> AsyncIterator[Prometheus]:
    async with aiohttp.ClientSession() as session:
        yield Prometheus(running.prometheus, session, {"system": SYSTEM, "job": JOB})


def excuse(expr: str) -> str | None:
    for part, reason in PARTS_EXCUSED.items():
        if part in expr:
            return reason
    for selector in selectors(expr):
        name = selector.name.removesuffix("_bucket")
        if name in METRICS_EXCUSED:
            return METRICS_EXCUSED[name]
        metric = catalog.BY_NAME.get(name)
        if metric is not None and metric.origin in ORIGINS_EXCUSED:
            return ORIGINS_EXCUSED[metric.origin]
    return None


def window() -> Window:
    end = time.time()
    return Window(end - SHOWN_SECONDS, end, STEP_SECONDS, 1.0)


def panel_of(uid: str, title: str) -> Json:
    return next(each for each in panels(BOARDS[uid]) if each["title"] == title)


async def empty_queries(prometheus: Prometheus, uid: str) -> list[str]:
    """Those without a series that have no excuse."""
    return [
        f"{panel['title']} {target['refId']}: {target['expr']}"
        for panel in panels(BOARDS[uid])
        for target in panel.get("targets", ())
        if excuse(target["expr"]) is None and not await prometheus.target(target, window())
    ]


@pytest.mark.parametrize("uid", BOARDS)
async def test_every_query_finds_series(prometheus: Prometheus, uid: str) -> None:
    """Repeated until all have some: a rate needs two scrapes, a verdict two polls."""

    async def request() -> list[str]:
        return await empty_queries(prometheus, uid)

    await until(request, lambda empty: not empty, f"queries of {uid} without a series")


@pytest.mark.parametrize("uid", BOARDS)
async def test_what_is_excused_is_at_least_a_query_that_prometheus_takes(
    prometheus: Prometheus, uid: str
) -> None:
    for panel in panels(BOARDS[uid]):
        for target in panel.get("targets", ()):
            if excuse(target["expr"]) is not None:
                await prometheus.target(target, window())


@pytest.mark.parametrize("uid", BOARDS)
async def test_every_annotation_is_a_query_that_prometheus_takes(
    prometheus: Prometheus, uid: str
) -> None:
    for annotation in BOARDS[uid]["annotations"]["list"][1:]:
        query = {"expr": annotation["expr"], "instant": False, "refId": "Anno"}
        found = await prometheus.target(query, window())
        if annotation["name"] == "Server restarts":
            assert {series.labels["server"] for series in found} == {"n1", "n2", "n3"}


async def test_every_variable_has_values(running: Stage) -> None:
    """Requests like Grafana: the values of a label among the series of a selector."""
    async with aiohttp.ClientSession() as session:
        for uid, board in BOARDS.items():
            for name, variable in variables(board).items():
                if name in ("datasource", "exporter"):
                    continue
                selector = variable["definition"].removeprefix("label_values(").rpartition(",")[0]
                selector = filled(selector)
                address = f"{running.prometheus}/api/v1/label/{name}/values"
                async with session.get(address, params={"match[]": selector}) as response:
                    values = (await response.json())["data"]
                # The scrape adds no cluster here: the variable has All alone.
                assert bool(values) is (name != "cluster"), f"{uid}: {name}"


async def test_runbooks_are_at_the_address_of_an_exporter(
    prometheus: Prometheus, running: Stage
) -> None:
    """The hidden variable takes it out of a series, as Grafana does: from its text."""
    variable = variables(BOARDS["sg-fleet"])["exporter"]
    query = variable["definition"].removeprefix("query_result(").removesuffix(")")
    found = await prometheus.target({"expr": query, "instant": True, "refId": "A"}, window())
    texts = [",".join(f'{k}="{v}"' for k, v in each.labels.items()) for each in found]
    pattern = re.compile(variable["regex"].strip("/"))
    addresses = [match[1] for text in texts if (match := pattern.search(text))]
    assert len(addresses) == EXPORTERS
    async with aiohttp.ClientSession() as session:
        for address in addresses:
            runbook = f"{address}/docs/runbooks/JetStreamConsumerStalled"
            async with session.get(runbook) as response:
                assert response.status == 200


@pytest.mark.parametrize(
    ("title", "counted"), [("All streams", "streams"), ("All consumers", "consumers")]
)
async def test_two_exporters_count_nothing_twice(
    prometheus: Prometheus, running: Stage, title: str, counted: str
) -> None:
    async with connected(running.cluster) as client:

        async def board_and_truth() -> tuple[list[float], int]:
            info = await client.jetstream().account_info()
            found = await prometheus.panel(panel_of("sg-fleet", title), window())
            return [series.last for series in found], getattr(info, counted)

        await until(
            board_and_truth, lambda seen: seen[0] == [seen[1]], "the board counts otherwise"
        )


async def test_two_exporters_double_no_rate(prometheus: Prometheus) -> None:
    """Beside the sum over one exporter alone, the board's number is the same, not twice as large."""
    panel = panel_of("sg-fleet", "Publish rate")
    one = f"sum by (instance) (rate({catalog.STREAM_STORED_MESSAGES.name}[$__rate_interval]))"

    async def rates() -> tuple[list[float], list[float]]:
        now = window()
        each = await prometheus.target({"expr": one, "instant": True, "refId": "A"}, now)
        board = await prometheus.panel(panel, now)
        return [series.last for series in board], [series.last for series in each]

    seen = await until(rates, lambda all_: len(all_[1]) == EXPORTERS, "a scrape is missing")
    ((board,), each) = seen
    assert board < 1.5 * max(each)


async def test_the_boards_see_both_exporters_apart(prometheus: Prometheus) -> None:
    panel = panel_of("sg-exporter", "Complete polls over time")

    async def instances() -> set[str]:
        found = await prometheus.panel(panel, window())
        return {series.labels["instance"] for series in found}

    await until(instances, lambda seen: len(seen) == EXPORTERS, "not both are seen")


async def test_the_stuck_consumer_is_on_the_fleet_board(prometheus: Prometheus) -> None:
    """The request that the boards are for."""

    async def verdicts() -> dict[str, float]:
        found = await prometheus.panel(panel_of("sg-fleet", "Consumers"), window())
        return {series.labels["consumer"]: series.last for series in found if series.ref == "A"}

    await until(
        verdicts, lambda seen: seen.get("stuck", 0) >= UNHEALTHY[0], "the stuck one is not seen"
    )
