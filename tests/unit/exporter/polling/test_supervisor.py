"""All systems of one process over sources in memory: start, reload, hand-over, readiness."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest
from support.waiting import until

from exporter.model import Outcome, Server, Snapshot
from exporter.polling.loop import SystemPoller
from exporter.polling.supervisor import Supervisor
from exporter.samples.render import Renderer
from exporter.settings.config import ExporterSettings, SystemSettings
from streamgauge.serving.settings.loader import SettingsError

A, B = SystemSettings(name="a"), SystemSettings(name="b")
AT_START = ExporterSettings(systems=(A,))


@dataclass
class MemorySource:
    """Responds when allowed, and counts its polls."""

    requested: asyncio.Event = field(default_factory=asyncio.Event)
    let: asyncio.Event = field(default_factory=asyncio.Event)
    fault: BaseException | None = None
    closed: bool = False
    swallows: int = 0  # so many cancellations

    async def poll(self, deadline: float) -> Snapshot:
        self.requested.set()
        try:
            await self.let.wait()
        except asyncio.CancelledError:
            if not self.swallows:
                raise
            self.swallows -= 1
        if self.fault is not None:
            raise self.fault
        taken = 4e9  # in the far future: never stale
        servers = (Server("n1", "ID", True),)
        return Snapshot("x", taken, servers=servers, outcomes=(Outcome("varz", True, 0.1),))

    async def close(self) -> None:
        self.closed = True


@dataclass
class Made:
    """The pollers that the supervisor created."""

    sources: list[MemorySource] = field(default_factory=list)
    pollers: list[SystemPoller] = field(default_factory=list)
    unnamed: bool = False

    def poller(self, settings: ExporterSettings, system: SystemSettings) -> SystemPoller:
        source = MemorySource()
        self.sources.append(source)
        renderer = Renderer(system.name)
        poller = SystemPoller(system.name, system.source, system.urls, source, renderer, 15.0, 10.0)
        poller.unnamed = self.unnamed
        self.pollers.append(poller)
        return poller


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    factory = Made()
    monkeypatch.setattr("exporter.polling.supervisor.make_poller", factory.poller)
    monkeypatch.setattr("exporter.polling.supervisor.configure_logs", lambda *_: None)
    return factory


@dataclass
class File:
    """What the settings file would say at the next reload."""

    content: ExporterSettings | Exception = AT_START

    def load(self) -> ExporterSettings:
        if isinstance(self.content, Exception):
            raise self.content
        return self.content


@pytest.fixture
def file() -> File:
    return File()


@pytest.fixture
async def supervisor(made: Made, file: File) -> AsyncIterator[Supervisor]:
    running = Supervisor(AT_START, file.load)
    running.start()
    yield running
    await running.stop()


async def succeeded(
    source: MemorySource, supervisor: Supervisor, system: str = "a"
) -> SystemPoller:
    """Let the poll end; gives the poller that shows its page."""
    source.let.set()

    async def shown() -> SystemPoller | None:
        pollers = [each for each in supervisor.pollers if each.system == system]
        return pollers[0] if pollers[0].source is source and pollers[0].state.polls else None

    found = await until(shown, bool, "no page of this source is shown")
    assert found is not None
    return found


async def test_it_is_ready_after_the_first_poll_and_stays_so(
    supervisor: Supervisor, made: Made, file: File
) -> None:
    assert not supervisor.ready()
    await succeeded(made.sources[0], supervisor)
    assert supervisor.ready()
    file.content = replace(AT_START, systems=(A, B))
    assert (await supervisor.reload()).ok
    assert [poller.state.polls for poller in supervisor.pollers] == [1, 0]
    assert supervisor.ready()


async def test_a_watch_that_was_not_started_is_not_ready(made: Made, file: File) -> None:
    assert not Supervisor(AT_START, file.load).ready()


async def test_an_unchanged_system_keeps_its_poller(
    supervisor: Supervisor, made: Made, file: File
) -> None:
    (before,) = supervisor.pollers
    file.content = replace(AT_START, systems=(B, A))
    await supervisor.reload()
    assert [poller.system for poller in supervisor.pollers] == ["b", "a"]
    assert supervisor.pollers[1] is before
    assert not made.sources[0].closed


async def test_a_removed_system_is_ended_and_closed(
    supervisor: Supervisor, made: Made, file: File
) -> None:
    await made.sources[0].requested.wait()
    file.content = replace(AT_START, systems=(B,))
    await supervisor.reload()
    assert [poller.system for poller in supervisor.pollers] == ["b"]
    assert made.sources[0].closed
    assert supervisor.dead() == []


@pytest.mark.parametrize(
    "changed",
    [
        replace(AT_START, interval=30.0),
        replace(AT_START, exclude_metrics=("server_info",)),
        replace(AT_START, systems=(replace(A, account="OTHER"),)),
    ],
)
async def test_a_changed_system_shows_its_old_page_until_it_has_a_new_one(
    supervisor: Supervisor, made: Made, file: File, changed: ExporterSettings
) -> None:
    before = await succeeded(made.sources[0], supervisor)
    file.content = changed
    await supervisor.reload()
    assert made.sources[0].closed
    assert supervisor.pollers == [before]
    assert supervisor.scrape_view().blocks() == [before.state.rendered.blocks]
    after = await succeeded(made.sources[1], supervisor)
    assert supervisor.pollers == [after]


@pytest.mark.parametrize(("urls", "unnamed"), [((), False), (("nats://other:4222",), True)])
async def test_a_reload_keeps_the_decided_name_of_the_same_servers(
    supervisor: Supervisor, made: Made, file: File, urls: tuple[str, ...], unnamed: bool
) -> None:
    supervisor.pollers[0].system = "hub"
    await succeeded(made.sources[0], supervisor, "hub")
    made.unnamed = True
    file.content = replace(AT_START, systems=(replace(A, account="OTHER", urls=urls or A.urls),))
    assert (await supervisor.reload()).ok
    assert made.pollers[1].unnamed is unnamed
    assert (made.pollers[1].system == "hub") is not unnamed


async def test_an_invalid_file_changes_nothing_and_is_reported(
    supervisor: Supervisor, file: File, caplog: pytest.LogCaptureFixture
) -> None:
    (before,) = supervisor.pollers
    loaded = supervisor.loaded
    file.content = SettingsError("x.yml", "interval", "is wrong")
    outcome = await supervisor.reload()
    counts = "not reloaded, old configuration kept: x.yml: interval: is wrong"
    assert (outcome.ok, outcome.text) == (False, counts)
    assert (supervisor.reload_ok, supervisor.loaded, supervisor.pollers) == (
        False,
        loaded,
        [before],
    )
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_an_exception_in_a_reload_changes_nothing_either(
    supervisor: Supervisor, made: Made, file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    (before,) = supervisor.pollers

    def broken(*_: object) -> SystemPoller:
        raise RuntimeError("boom")

    monkeypatch.setattr("exporter.polling.supervisor.make_poller", broken)
    file.content = replace(AT_START, systems=(B,))
    outcome = await supervisor.reload()
    assert outcome.text.endswith("old configuration kept: RuntimeError: boom")
    assert (supervisor.pollers, supervisor.settings) == ([before], AT_START)
    assert not made.sources[0].closed


async def test_settings_that_need_a_restart_are_logged_at_every_reload(
    supervisor: Supervisor, file: File, caplog: pytest.LogCaptureFixture
) -> None:
    file.content = replace(AT_START, web=replace(AT_START.web, listen_address="127.0.0.1:1"))
    for _ in range(2):
        assert (await supervisor.reload()).text == "reloaded; web.listen_address needs a restart"
    warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warnings) == 2
    file.content = AT_START
    assert (await supervisor.reload()).text == "reloaded"


async def test_a_loop_that_ended_is_named(supervisor: Supervisor, made: Made) -> None:
    made.sources[0].fault = asyncio.CancelledError()  # the one thing that a loop does not survive
    made.sources[0].let.set()

    async def dead() -> list[str]:
        return supervisor.dead()

    assert await until(dead, bool, "the loop goes on") == ["a"]


async def test_stopping_closes_every_source(made: Made, file: File) -> None:
    supervisor = Supervisor(replace(AT_START, systems=(A, B)), file.load)
    supervisor.start()
    for source in made.sources:
        await source.requested.wait()
    await supervisor.stop()
    assert [source.closed for source in made.sources] == [True, True]
    assert supervisor.dead() == []


async def test_a_poll_that_swallows_its_cancellation_is_cancelled_again(
    made: Made, file: File, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("exporter.polling.supervisor._SHUTDOWN_SECONDS", 0.2)
    supervisor = Supervisor(AT_START, file.load)
    supervisor.start()
    [source] = made.sources
    await source.requested.wait()
    source.swallows = 1
    await supervisor.stop()
    assert source.closed
    assert "did not end in time" not in caplog.text
