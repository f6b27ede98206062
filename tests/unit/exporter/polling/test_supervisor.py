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
from exporter.polling.supervisor import Watch
from exporter.samples.render import Renderer
from exporter.settings.config import ExporterSettings, SystemSettings
from streamgauge.serving.settings.loader import SettingsError

A, B = SystemSettings(name="a"), SystemSettings(name="b")
AT_START = ExporterSettings(systems=(A,))


@dataclass
class MemorySource:
    """Answers when it is let, and says when it was asked."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    let: asyncio.Event = field(default_factory=asyncio.Event)
    fault: BaseException | None = None
    closed: bool = False

    async def poll(self, deadline: float) -> Snapshot:
        self.asked.set()
        await self.let.wait()
        if self.fault is not None:
            raise self.fault
        taken = 4e9  # in the far future: never stale
        servers = (Server("n1", "ID", True),)
        return Snapshot("x", taken, servers=servers, outcomes=(Outcome("varz", True, 0.1),))

    async def close(self) -> None:
        self.closed = True


@dataclass
class Made:
    """What the watch was given: one poller for each time it asked."""

    sources: list[MemorySource] = field(default_factory=list)

    def poller(self, settings: ExporterSettings, system: SystemSettings) -> SystemPoller:
        source = MemorySource()
        self.sources.append(source)
        renderer = Renderer(system.name)
        return SystemPoller(system.name, system.source, system.urls, source, renderer, 15.0, 10.0)


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
async def watch(made: Made, file: File) -> AsyncIterator[Watch]:
    running = Watch(AT_START, file.load)
    running.start()
    yield running
    await running.stop()


async def succeeded(source: MemorySource, watch: Watch, system: str = "a") -> SystemPoller:
    """Let the poll end; gives the poller that shows its page."""
    source.let.set()

    async def shown() -> SystemPoller | None:
        pollers = [each for each in watch.pollers if each.system == system]
        return pollers[0] if pollers[0].source is source and pollers[0].state.polls else None

    found = await until(shown, bool, "no page of this source is shown")
    assert found is not None
    return found


async def test_it_is_ready_after_the_first_poll_and_stays_so(
    watch: Watch, made: Made, file: File
) -> None:
    assert not watch.ready()
    await succeeded(made.sources[0], watch)
    assert watch.ready()
    file.content = replace(AT_START, systems=(A, B))
    assert (await watch.reload()).ok
    assert [poller.state.polls for poller in watch.pollers] == [1, 0]
    assert watch.ready()


async def test_a_watch_that_was_not_started_is_not_ready(made: Made, file: File) -> None:
    assert not Watch(AT_START, file.load).ready()


async def test_an_unchanged_system_keeps_its_poller(watch: Watch, made: Made, file: File) -> None:
    (before,) = watch.pollers
    file.content = replace(AT_START, systems=(B, A))
    await watch.reload()
    assert [poller.system for poller in watch.pollers] == ["b", "a"]
    assert watch.pollers[1] is before
    assert not made.sources[0].closed


async def test_a_removed_system_is_ended_and_closed(watch: Watch, made: Made, file: File) -> None:
    await made.sources[0].asked.wait()
    file.content = replace(AT_START, systems=(B,))
    await watch.reload()
    assert [poller.system for poller in watch.pollers] == ["b"]
    assert made.sources[0].closed
    assert watch.dead() == []


@pytest.mark.parametrize(
    "changed",
    [
        replace(AT_START, interval=30.0),
        replace(AT_START, exclude_metrics=("server_info",)),
        replace(AT_START, systems=(replace(A, account="OTHER"),)),
    ],
)
async def test_a_changed_system_shows_its_old_page_until_it_has_a_new_one(
    watch: Watch, made: Made, file: File, changed: ExporterSettings
) -> None:
    before = await succeeded(made.sources[0], watch)
    file.content = changed
    await watch.reload()
    assert made.sources[0].closed
    assert watch.pollers == [before]
    assert watch.moment().blocks() == [before.state.rendered.blocks]
    after = await succeeded(made.sources[1], watch)
    assert watch.pollers == [after]


async def test_a_bad_file_changes_nothing_and_is_told(
    watch: Watch, file: File, caplog: pytest.LogCaptureFixture
) -> None:
    (before,) = watch.pollers
    loaded = watch.loaded
    file.content = SettingsError("x.yml", "interval", "is wrong")
    outcome = await watch.reload()
    told = "not reloaded, the old configuration stays: x.yml: interval: is wrong"
    assert (outcome.ok, outcome.text) == (False, told)
    assert (watch.reload_ok, watch.loaded, watch.pollers) == (False, loaded, [before])
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_a_mistake_of_ours_in_a_reload_changes_nothing_either(
    watch: Watch, made: Made, file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    (before,) = watch.pollers

    def broken(*_: object) -> SystemPoller:
        raise RuntimeError("boom")

    monkeypatch.setattr("exporter.polling.supervisor.make_poller", broken)
    file.content = replace(AT_START, systems=(B,))
    outcome = await watch.reload()
    assert outcome.text.endswith("the old configuration stays: RuntimeError: boom")
    assert (watch.pollers, watch.settings) == ([before], AT_START)
    assert not made.sources[0].closed


async def test_what_takes_a_restart_is_told_at_every_reload(
    watch: Watch, file: File, caplog: pytest.LogCaptureFixture
) -> None:
    file.content = replace(AT_START, web=replace(AT_START.web, listen_address="127.0.0.1:1"))
    for _ in range(2):
        assert (await watch.reload()).text == "reloaded; web.listen_address takes a restart"
    warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warnings) == 2
    file.content = AT_START
    assert (await watch.reload()).text == "reloaded"


async def test_a_loop_that_ended_is_named(watch: Watch, made: Made) -> None:
    made.sources[0].fault = asyncio.CancelledError()  # the one thing that a loop does not survive
    made.sources[0].let.set()

    async def dead() -> list[str]:
        return watch.dead()

    assert await until(dead, bool, "the loop goes on") == ["a"]


async def test_stopping_closes_every_source(made: Made, file: File) -> None:
    watch = Watch(replace(AT_START, systems=(A, B)), file.load)
    watch.start()
    for source in made.sources:
        await source.asked.wait()
    await watch.stop()
    assert [source.closed for source in made.sources] == [True, True]
    assert watch.dead() == []
