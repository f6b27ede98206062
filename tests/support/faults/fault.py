"""What a fault of the trial is: assets in good health, then the fault, then the runbook's remedy."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nats.aio.msg import Msg
from support.alert_pipeline.config import JOB, SYSTEM
from support.alert_pipeline.pipeline import Pipeline
from support.alert_pipeline.webhook import Inbox, key_of, spoken
from support.recordings.scenario import SECOND, Api

from streamgauge.cancellation import cancel

Expected = dict[str, str]
APP = "APP"
_FETCH_SECONDS = 2.0


def page(name: str, **labels: str) -> Expected:
    return _alert(name, "critical", labels)


def ticket(name: str, **labels: str) -> Expected:
    return _alert(name, "warning", labels)


def info(name: str, **labels: str) -> Expected:
    return _alert(name, "info", labels)


def _alert(name: str, severity: str, labels: Expected) -> Expected:
    # Prometheus adds the job to every series, and rules keep it.
    team = {"team": "unassigned"} if "stream" in labels else {}
    return {"alertname": f"JetStream{name}", "severity": severity, "job": JOB, **team, **labels}


def on_stream(stream: str, **labels: str) -> Expected:
    return {"system": SYSTEM, "account": APP, "stream": stream, **labels}


@dataclass
class Site:
    """Where the faults happen: one account of a running system, and its workers."""

    api: Api
    limited: Api  # as a user of an account with low limits
    _busy: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Goes on until the trial ends."""
        self._busy.append(asyncio.create_task(work))

    async def close(self) -> None:
        await cancel(self._busy)
        ended = await asyncio.gather(*self._busy, return_exceptions=True)
        for end in ended:
            if isinstance(end, Exception):
                raise end

    async def work(
        self, stream: str, consumer: str, response: Callable[[Msg], Coroutine[Any, Any, None]]
    ) -> None:
        """A worker that takes what it gets, one after the other, for ever."""
        pull = await self.api.jetstream.pull_subscribe_bind(consumer, stream)
        while True:
            try:
                messages = await pull.fetch(10, timeout=_FETCH_SECONDS)
            except TimeoutError:  # nothing there; the next request follows at once
                continue
            for message in messages:
                await response(message)


async def acknowledge(message: Msg) -> None:
    await message.ack()


async def refuse(message: Msg) -> None:
    await message.nak()
    # An endless loop at the speed of the machine would be a trial of the machine.
    await asyncio.sleep(0.02)


class Fault(ABC):
    """One object is one fault on assets of its own, so that many can happen side by side."""

    alerts: ClassVar[tuple[Expected, ...]]
    # Alerts on the same asset that may fire if the fault lasts long enough.
    beside: ClassVar[tuple[Expected, ...]] = ()

    @abstractmethod
    async def prepare(self, site: Site) -> None:
        """Assets in good health, before anybody watches."""

    @abstractmethod
    async def provoke(self, site: Site) -> None: ...

    @abstractmethod
    async def remedy(self, site: Site) -> None:
        """As the runbook says."""

    async def happen(self, site: Site, inbox: Inbox) -> None:
        """From the fault to the moment when everybody knows that it is over."""
        await self.provoke(site)
        for alert in self.alerts:
            await inbox.until_firing(alert)
        await self.remedy(site)
        for alert in self.alerts:
            await inbox.until_resolved(alert)


@asynccontextmanager
async def prepared(faults: Iterable[Fault], api: Api, limited: Api) -> AsyncIterator[Site]:
    site = Site(api, limited)
    for fault in faults:
        await fault.prepare(site)
    try:
        yield site
    finally:
        await site.close()


async def all_happen(faults: Iterable[Fault], site: Site, trial: Pipeline) -> None:
    async with asyncio.TaskGroup() as group:
        for fault in faults:
            group.create_task(fault.happen(site, trial.inbox))


RECEIVERS = {"critical": "page", "warning": "ticket", "info": "info"}


def assert_notified_once(
    inbox: Inbox, expected: Iterable[Expected], allowed: Iterable[Expected] = ()
) -> None:
    """Each of these once, to the people of its severity, in full sentences; and nothing else."""
    wanted = list(expected)
    known = {key_of(alert) for alert in (*wanted, *allowed)}
    unexpected = inbox.fired("page", "ticket") - known
    assert not unexpected, [*sorted(map(spoken, unexpected)), *map(str, inbox.posts)]
    for alert in wanted:
        assert inbox.notification_count(alert) == 1, [str(post) for post in inbox.posts]
        receivers = inbox.receivers_of(alert)
        assert receivers == {RECEIVERS[alert["severity"]]}, f"{alert} went to {receivers}"
    for post in inbox.posts:
        for text in post.texts:
            # What Prometheus writes when a template cannot be filled in.
            assert "<error" not in text, text
            assert "<no value>" not in text, text


def seconds(number: float) -> int:
    """As the JetStream API counts time."""
    return int(number * SECOND)
