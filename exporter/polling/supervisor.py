"""Runs the pollers of all systems, and reloads the settings."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from exporter.polling.loop import SystemPoller
from exporter.polling.scrape_view import ScrapeView, state_samples
from exporter.polling.wiring import make_poller
from exporter.samples.self_metrics import SelfSample
from exporter.settings.config import ExporterSettings, SystemSettings
from streamgauge.cancellation import cancel
from streamgauge.serving.log_format import exception_text
from streamgauge.serving.logs import configure_logs, event
from streamgauge.serving.settings.loader import SettingsError

logger = logging.getLogger(__name__)

# Settings that replace every poller when they change.
_SHARED = ("interval", "timeout", "detail", "include_metrics", "exclude_metrics", "max_series",
           "thresholds")  # fmt: skip
_SHUTDOWN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Reload:
    """The result of a reload, with the text of the HTTP response."""

    ok: bool
    text: str


@dataclass(slots=True)
class _Running:
    settings: SystemSettings
    poller: SystemPoller
    task: asyncio.Task[None]
    before: SystemPoller | None = None
    ending: bool = False

    def shown(self) -> SystemPoller:
        """After a change the previous poller is shown until the first poll of the new one."""
        if self.before is not None and self.poller.state.polls == 0:
            return self.before
        self.before = None  # frees its snapshot
        return self.poller


@dataclass(slots=True)
class Supervisor:
    """Runs the pollers; a reload replaces only those whose settings changed."""

    settings: ExporterSettings
    load: Callable[[], ExporterSettings]
    reload_ok: bool = True
    loaded: float = field(default_factory=time.time)  # when the current settings were loaded
    _at_start: ExporterSettings = field(init=False)
    _was_ready: bool = False
    # Replaced, never changed in place: pages and scrapes read it from other threads.
    _running: Mapping[str, _Running] = field(default_factory=dict)
    _reloading: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._at_start = self.settings

    @property
    def pollers(self) -> Sequence[SystemPoller]:
        return [running.shown() for running in self._running.values()]

    def start(self) -> None:
        self._running = {
            system.name: _run(system, make_poller(self.settings, system))
            for system in self.settings.systems
        }

    async def stop(self) -> None:
        async with self._reloading:
            await _end(list(self._running.values()))

    async def reload(self) -> Reload:
        async with self._reloading:
            try:
                new = await asyncio.to_thread(self.load)
                await self._apply(new)
            except SettingsError as error:
                return self._refused(str(error))
            except Exception as error:  # a bug: the old configuration stays in force
                logger.debug("reload failed", exc_info=True)
                return self._refused(exception_text(error))
            self.reload_ok, self.loaded = True, time.time()
            event(logger, logging.INFO, "configuration reloaded", systems=len(new.systems))
            return Reload(True, "reloaded" + self._log_restart_needed(new))

    def _refused(self, reason: str) -> Reload:
        self.reload_ok = False
        event(
            logger,
            logging.ERROR,
            "reload failed, old configuration kept, fix it and reload",
            reason=reason,
        )
        return Reload(False, f"not reloaded, old configuration kept: {reason}")

    def _log_restart_needed(self, new: ExporterSettings) -> str:
        """The listener keeps the settings it was started with."""
        changed = [
            f"web.{each.name}"
            for each in fields(new.web)
            if getattr(new.web, each.name) != getattr(self._at_start.web, each.name)
        ]
        for key in changed:
            event(logger, logging.WARNING, "setting changed, restart to apply it", setting=key)
        return "".join(f"; {key} needs a restart" for key in changed)

    async def _apply(self, new: ExporterSettings) -> None:
        kept = self._unchanged(new)
        # Create all of them before ending any: an error here must change nothing.
        made = {
            system.name: make_poller(new, system)
            for system in new.systems
            if system.name not in kept
        }
        old = self._running
        await _end([running for name, running in old.items() if name not in kept])
        self._running = {
            system.name: old[system.name]
            if system.name in kept
            else _run(system, made[system.name], old.get(system.name))
            for system in new.systems
        }
        self.settings = replace(new, web=self._at_start.web)
        configure_logs(new.log.format, new.log.level)

    def _unchanged(self, new: ExporterSettings) -> Collection[str]:
        if any(getattr(self.settings, key) != getattr(new, key) for key in _SHARED):
            return frozenset()
        return {
            system.name
            for system in new.systems
            if (running := self._running.get(system.name)) and running.settings == system
        }

    def dead(self) -> list[str]:
        """Systems whose poll loop ended, which is a bug."""
        return [
            name
            for name, running in self._running.items()
            if running.task.done() and not running.ending
        ]

    def ready(self) -> bool:
        """Whether every system was polled once, successfully or not.

        It stays true over a reload: an added system must not take the others out of service.
        """
        if not self._was_ready:
            pollers = self.pollers
            self._was_ready = bool(pollers) and all(poller.state.polls > 0 for poller in pollers)
        return self._was_ready

    def scrape_view(self) -> ScrapeView:
        """The current view for a scrape."""
        systems = tuple((poller.system, poller.state) for poller in self.pollers)
        return ScrapeView(time.time(), systems, self.reload_ok, self.loaded)


def _run(system: SystemSettings, poller: SystemPoller, before: _Running | None = None) -> _Running:
    if before is not None and before.settings.urls == system.urls:
        poller.keep_name(before.shown())
    task = asyncio.create_task(poller.run(), name=f"poll {system.label}")
    return _Running(system, poller, task, before.shown() if before else None)


async def _end(ending: Sequence[_Running]) -> None:
    if not ending:
        return
    for running in ending:
        running.ending = True
    tasks = {each.task for each in ending}
    # Bounded: a connection that hangs on close must not delay a stop or a reload.
    late = await cancel(tasks, _SHUTDOWN_SECONDS / 2, times=2)
    for task in late:
        event(logger, logging.WARNING, "task did not end in time", task=task.get_name())
    for task in tasks - late:
        if not task.cancelled() and (error := task.exception()) is not None:
            event(
                logger,
                logging.WARNING,
                "task ended with an error",
                task=task.get_name(),
                error=error,
            )


def system_samples(poller: SystemPoller, now: float) -> Iterator[SelfSample]:
    """The exporter's own samples about the polls of one system."""
    return state_samples(poller.system, poller.state, now)
