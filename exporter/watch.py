"""All systems of one process: their pollers, what they say of themselves, and the reload."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from exporter import catalog
from exporter.assembly import make_poller
from exporter.config import ExporterSettings, SystemSettings
from exporter.exposition import Block
from exporter.poll import SystemPoller
from exporter.samples.self_metrics import SelfSample
from streamgauge.serving.logs import configure_logs, event
from streamgauge.serving.settings import SettingsError

logger = logging.getLogger(__name__)

# What a reload cannot change while the process runs.
_FIXED = ("listen", "web_config")
# What makes a system's poller a new one although its own settings stayed.
_SHARED = ("interval", "timeout", "detail", "include_metrics", "exclude_metrics", "max_series")


@dataclass(slots=True)
class _Running:
    settings: SystemSettings
    poller: SystemPoller
    task: asyncio.Task[None]


@dataclass(slots=True)
class Watch:
    """Runs the pollers; a reload replaces only those whose settings changed."""

    settings: ExporterSettings
    load: Callable[[], ExporterSettings]
    reload_ok: bool = True
    reloaded: float = field(default_factory=time.time)
    _running: dict[str, _Running] = field(default_factory=dict)
    _reloading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def pollers(self) -> Sequence[SystemPoller]:
        return [running.poller for running in self._running.values()]

    def start(self) -> None:
        for system in self.settings.systems:
            self._start(system)

    def _start(self, system: SystemSettings) -> None:
        poller = make_poller(self.settings, system)
        task = asyncio.create_task(poller.run(), name=f"poll {system.name}")
        self._running[system.name] = _Running(system, poller, task)

    async def stop(self) -> None:
        await self._stop(list(self._running))

    async def _stop(self, names: Iterable[str]) -> None:
        ending = [self._running.pop(name).task for name in names]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def reload(self) -> str | None:
        """None when the new settings are in force, else why the old ones stay."""
        async with self._reloading:
            self.reloaded = time.time()
            try:
                new = await asyncio.to_thread(self.load)
            except SettingsError as error:
                self.reload_ok = False
                event(logger, logging.ERROR, "reload failed, the old configuration stays",
                      reason=str(error))  # fmt: skip
                return str(error)
            await self._apply(new)
            self.reload_ok = True
            event(logger, logging.INFO, "configuration reloaded", systems=len(new.systems))
            return None

    async def _apply(self, new: ExporterSettings) -> None:
        old, self.settings = self.settings, new
        configure_logs(new.logs.format, new.logs.level)
        for name in _FIXED:
            if getattr(old, name) != getattr(new, name):
                event(logger, logging.WARNING, "this setting takes a restart", setting=name)
        shared = all(getattr(old, name) == getattr(new, name) for name in _SHARED)
        kept = {
            system.name
            for system in new.systems
            if shared
            and system.name in self._running
            and self._running[system.name].settings == system
        }
        await self._stop([name for name in self._running if name not in kept])
        for system in new.systems:
            if system.name not in kept:
                self._start(system)

    def dead(self) -> list[str]:
        """Systems whose loop ended; it never should."""
        return [name for name, running in self._running.items() if running.task.done()]

    def ready(self) -> bool:
        """Every system was polled once, whatever came of it: from then on /metrics tells."""
        return all(poller.state.polls > 0 for poller in self.pollers)

    def blocks(self) -> list[tuple[Block, ...]]:
        now = time.time()
        return [poller.served(now).blocks for poller in self.pollers]

    def self_samples(self) -> Iterator[SelfSample]:
        yield SelfSample(catalog.CONFIG_LAST_RELOAD_SUCCESS, (), float(self.reload_ok))
        yield SelfSample(catalog.CONFIG_LAST_RELOAD_TIMESTAMP_SECONDS, (), self.reloaded)
        now = time.time()
        for poller in self.pollers:
            yield from system_samples(poller, now)


def system_samples(poller: SystemPoller, now: float) -> Iterator[SelfSample]:
    state, system = poller.state, (poller.system,)
    if state.polls == 0:
        return
    yield SelfSample(catalog.UP, system, float(state.complete))
    yield SelfSample(catalog.SERIES, system, poller.served(now).series)
    yield SelfSample(catalog.SERIES_DROPPED, system, state.series_dropped)
    maybe = (
        (catalog.SNAPSHOT_AGE_SECONDS, state.age(now)),
        (catalog.POLL_DURATION_SECONDS, state.poll_seconds),
        (catalog.SERVERS_EXPECTED, state.servers_expected),
        (catalog.SERVERS_ANSWERED, state.servers_answered),
    )
    for metric, value in maybe:
        if value is not None:
            yield SelfSample(metric, system, value)
    for question, record in state.questions.items():
        labels = (*system, question)
        yield SelfSample(catalog.QUESTION_SUCCESS, labels, float(record.outcome.ok))
        yield SelfSample(catalog.QUESTION_DURATION_SECONDS, labels, record.outcome.seconds)
    for skipped in state.skipped:
        yield SelfSample(catalog.QUESTION_SKIPPED, (*system, skipped.question, skipped.reason), 1)
    for (question, reason), number in sorted(state.errors.items()):
        yield SelfSample(catalog.POLL_ERRORS, (*system, question, reason), number)
