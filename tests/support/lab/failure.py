"""A failure of the lab: a workload of its own, the alerts it must raise, and the runbook's remedy."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any, ClassVar

from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeoutError
from support.nats.servers import APP, Login, NatsServer
from support.recordings.scenario import SECOND, Api

from streamgauge.cancellation import cancel
from streamgauge.demo.processes.child import STREAMGAUGE

_FETCH_SECONDS = 1.0
PREFIX = "JetStream"
NATS_CLI = shutil.which("nats")  # at import: the event loop must not read the disk


@dataclass(frozen=True, slots=True)
class Alerted:
    """An alert as Alertmanager has it, inhibited ones left out."""

    system: str
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

    nodes: Sequence[NatsServer]  # clients are connected to the first one, which no failure stops
    api: Api
    speed: float = 1.0
    holders: set[str] = field(default_factory=set)  # servers with the only copy of a stream
    _busy: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def server(self) -> NatsServer:
        return self.nodes[0]

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._busy.append(task)
        return task

    async def pause(self, seconds: float) -> None:
        """At the lab's tempo, as the rules and the exporter wait."""
        await asyncio.sleep(seconds / self.speed)

    async def close(self) -> None:
        await cancel(self._busy)
        ended = await asyncio.gather(*self._busy, return_exceptions=True)
        # A worker that died of something else did not do the work that the test is about.
        died = [end for end in ended if isinstance(end, Exception)]
        assert not died, died

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

    async def cli(self, command: str, user: Login = APP) -> str:
        """A command of a runbook, by the real nats CLI."""
        assert NATS_CLI is not None
        login = ("--server", self.server.url, "--user", user.user, "--password", user.password)
        return await _output(NATS_CLI, *shlex.split(command)[1:], *login)

    async def audit(self, *flags: str) -> Any:
        """What `streamgauge audit` finds, with the account source."""
        login = ("--nats", self.server.url, "--user", APP.user)
        secret = {**os.environ, "STREAMGAUGE_PASSWORD": APP.password}
        words = (*STREAMGAUGE, "audit", "--format", "json", *flags, *login)
        return json.loads(await _output(*words, environment=secret, codes=(0, 1)))


async def _output(
    *words: str, environment: Mapping[str, str] | None = None, codes: Sequence[int] = (0,)
) -> str:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *words, stdout=pipe, stderr=pipe, env=environment
    )
    output, errors = await process.communicate()
    assert process.returncode in codes, f"{words}: {output.decode()} {errors.decode()}"
    return output.decode()


class Failure(ABC):
    """On a stream of its own, so that all of them happen side by side."""

    number: ClassVar[int]  # in the table of seed failures
    stream: ClassVar[str]
    alert: ClassVar[str]  # without the prefix; empty: it is normal and raises none
    check: ClassVar[str] = ""  # of ConfigFinding
    beside: ClassVar[tuple[str, ...]] = ()  # may come before or after it, on the same stream
    of_servers: ClassVar[tuple[str, ...]] = ()  # the same, of any stream
    account_sees: ClassVar[bool] = True  # whether the account source alone raises it too
    by_cli: ClassVar[bool] = True  # its remedy needs the nats CLI

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
        """In whatever system."""
        found = alert.name, alert.stream, alert.check
        return found == (PREFIX + self.alert, self.stream, self.check)


def first_number(text: str) -> float:
    """Names of the lab have no digits. 1.5k means 1500, as Prometheus writes it. A text may say
    "some" before anything is counted: that is not a number."""
    found = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)(k?)", text)
    if found is None:
        return nan
    return float(found[1]) * (1000 if found[2] else 1)


def seconds(number: float) -> int:
    return int(number * SECOND)


async def acknowledge(message: Msg) -> None:
    await message.ack()


async def drop(_: Msg) -> None:
    """The worker crashed on it, or its ack was lost."""
