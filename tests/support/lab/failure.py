"""A failure of the lab: a workload of its own, the alerts it must raise, and the runbook's remedy."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeoutError
from support.nats.servers import APP, NatsServer
from support.recordings.scenario import SECOND, Api

_FETCH_SECONDS = 1.0
PREFIX = "JetStream"
NATS_CLI = shutil.which("nats")  # at import: the event loop must not read the disk


@dataclass(frozen=True, slots=True)
class Alerted:
    """An alert as Alertmanager has it, inhibited ones left out."""

    name: str
    severity: str
    stream: str
    consumer: str
    check: str
    description: str
    runbook: str


@dataclass
class Lab:
    """One account of a running system, and the workers of all failures."""

    server: NatsServer
    api: Api
    _busy: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._busy.append(task)
        return task

    async def close(self) -> None:
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)

    async def worker(
        self,
        stream: str,
        consumer: str,
        response: Callable[[Msg], Awaitable[None]],
        batch: int = 10,
    ) -> None:
        """Takes what it gets, one after the other, until it is cancelled."""
        pull = await self.api.jetstream.pull_subscribe_bind(consumer, stream)
        while True:
            try:
                messages = await pull.fetch(batch, timeout=_FETCH_SECONDS)
            except (TimeoutError, NatsTimeoutError):
                continue
            for message in messages:
                await response(message)

    async def publisher(self, subject: str, per_second: float) -> None:
        while True:
            await self.api.publish(subject, 1)
            await asyncio.sleep(1 / per_second)

    async def cli(self, command: str) -> str:
        """A command of a runbook, by the real nats CLI."""
        assert NATS_CLI is not None
        login = ("--server", self.server.url, "--user", APP.user, "--password", APP.password)
        process = await asyncio.create_subprocess_exec(
            NATS_CLI, *shlex.split(command)[1:], *login,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output, _ = await process.communicate()
        assert process.returncode == 0, f"{command}: {output.decode()}"
        return output.decode()


class Failure(ABC):
    """On a stream of its own, so that all of them happen side by side."""

    number: ClassVar[int]  # in the table of seed failures
    stream: ClassVar[str]
    alert: ClassVar[str]  # without the prefix
    check: ClassVar[str] = ""  # of ConfigFinding
    beside: ClassVar[tuple[str, ...]] = ()  # may come before or after it, on the same stream

    @abstractmethod
    async def prepare(self, lab: Lab) -> None: ...

    @abstractmethod
    async def provoke(self, lab: Lab) -> None: ...

    async def true_numbers(self, lab: Lab) -> tuple[float, float] | None:
        """The first number of the alert's text lies between these; None: it has none."""
        return None

    async def remedy(self, lab: Lab) -> None:  # noqa: B027  many events just pass
        """What the runbook says. Without one, the alert ends because the event is past."""

    def matches(self, alert: Alerted) -> bool:
        return (
            alert.name == PREFIX + self.alert
            and alert.stream == self.stream
            and alert.check == self.check
        )


def first_number(text: str) -> float:
    """Names of the lab have no digits. 1.5k means 1500, as Prometheus writes it."""
    found = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)(k?)", text)
    assert found is not None, text
    return float(found[1]) * (1000 if found[2] else 1)


def seconds(number: float) -> int:
    return int(number * SECOND)


async def acknowledge(message: Msg) -> None:
    await message.ack()


async def drop(_: Msg) -> None:
    """The worker crashed on it, or its ack was lost."""
