"""What holds for every test: no blocking call in the event loop, markers, real servers."""

import inspect
import logging
import os
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import settings
from support.dealing import dealt
from support.nats.servers import NatsCluster, NatsServer, default_options, long_run, versions

from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.serving.logs import StreamgaugeHandler

# Every test of such a folder has its marker.
FOLDER_MARKERS = ("integration", "browser", "spark")
TESTS = Path(__file__).parent

# For make test-fast: --hypothesis-profile=fast.
# No time limit of an example: a busy machine is no fault.
settings.register_profile("whole", deadline=None)
settings.load_profile("whole")
settings.register_profile("fast", max_examples=10, deadline=None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    only_in_the_long_run = pytest.mark.skip(reason="long: set STREAMGAUGE_LONG=1")
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        if folder in FOLDER_MARKERS:
            item.add_marker(folder)
        if item.get_closest_marker("long") and not long_run():
            item.add_marker(only_in_the_long_run)
    # Spark runs once at a time: begun last, its tests would be a long tail on one worker.
    items.sort(key=lambda item: "spark" not in item.keywords)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if long_run() and workers > 1:
        items[:] = dealt(items, longest_seconds, workers)


def longest_seconds(item: pytest.Item) -> float:
    """The time limit of a long test. Those of Spark wait for each other: they keep their order."""
    limit = item.get_closest_marker("timeout")
    is_long = item.get_closest_marker("long") and "spark" not in item.keywords
    return float(limit.args[0]) if limit and is_long else 0.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A server version that this machine cannot have is no fault of ours: its tests are skipped."""
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(ProgramMissingError):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {call.excinfo.value}")
    return report


@pytest.fixture(autouse=True)
def no_blocking_in_the_event_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Only around async tests: elsewhere there is no loop to hold up, and patching costs time."""
    if not inspect.iscoroutinefunction(getattr(request.node, "obj", None)):
        yield
        return
    with blockbuster_ctx():
        yield


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """A command that a test calls in this process configures the logs of the whole process."""
    root = logging.getLogger()
    known = [each for each in root.manager.loggerDict.values() if isinstance(each, logging.Logger)]
    before = [(each, each.level, each.disabled) for each in (root, *known)]
    yield
    for logger, level, disabled in before:
        if (logger.level, logger.disabled) != (level, disabled):
            logger.setLevel(level)
            logger.disabled = disabled
    for handler in [each for each in root.handlers if isinstance(each, StreamgaugeHandler)]:
        root.removeHandler(handler)


@pytest.fixture(params=versions())
async def nats_server(request: pytest.FixtureRequest) -> AsyncIterator[NatsServer]:
    """A server of each version in turn, with the default account layout."""
    async with NatsServer(request.param, default_options()) as server:
        yield server


@pytest.fixture(params=versions())
async def nats_cluster(request: pytest.FixtureRequest) -> AsyncIterator[NatsCluster]:
    """Three nodes of each version in turn, with the default account layout."""
    async with NatsCluster(3, request.param, default_options()) as cluster:
        yield cluster
