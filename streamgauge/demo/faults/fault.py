"""The base classes of the demo's faults: healthy assets, a way to break them, and the remedy."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from typing import Any, ClassVar

from nats.aio.msg import Msg

from streamgauge.demo.actors.context import ActorContext, ack_all

Work = Coroutine[Any, Any, None]
Settings = dict[str, Any]


class Switch:
    """Broken or healed; workers can wait for either."""

    def __init__(self) -> None:
        self._healed = asyncio.Event()
        self._broken = asyncio.Event()
        self._healed.set()

    @property
    def broken(self) -> bool:
        return self._broken.is_set()

    def set(self, *, broken: bool) -> None:
        begun, ended = (self._broken, self._healed) if broken else (self._healed, self._broken)
        begun.set()
        ended.clear()

    async def wait_until_healed(self) -> None:
        await self._healed.wait()

    async def wait_until_broken(self) -> None:
        await self._broken.wait()


class Fault(ABC):
    """One fault on assets of its own. You can break and heal it any number of times."""

    name: ClassVar[str]
    what: ClassVar[str]  # what happens, in one sentence
    place: ClassVar[str]  # STREAM or STREAM > consumer
    alerts: ClassVar[tuple[str, ...]]  # each of them reports it; without the prefix JetStream
    verdict: ClassVar[str] = ""  # the condition, as on the status page; "" without a consumer
    remedy: ClassVar[str]  # what `heal` does
    needs_cluster: ClassVar[bool] = False

    def __init__(self) -> None:
        self.switch = Switch()

    @property
    def broken(self) -> bool:
        return self.switch.broken

    async def prepare(self, context: ActorContext) -> None:  # noqa: B027 (some have no assets)
        """Creates the assets, healthy."""

    def actors(self, context: ActorContext) -> Sequence[Work]:
        """The tasks that run as long as the demo."""
        return ()

    async def break_(self, context: ActorContext) -> None:  # noqa: B027 (the switch may suffice)
        """What to do after the switch is set to broken."""

    async def fix(self, context: ActorContext) -> None:  # noqa: B027
        """What to do before the switch is set to healed."""


class WorkerFault(Fault):
    """A stream, a publisher and one pull worker that misbehaves while broken."""

    stream: ClassVar[str]
    consumer: ClassVar[str]
    per_second: ClassVar[float] = 4
    batch: ClassVar[int] = 10
    stream_settings: ClassVar[Settings] = {}
    consumer_settings: ClassVar[Settings] = {}

    @property
    def subject(self) -> str:
        return self.stream.lower()

    async def prepare(self, context: ActorContext) -> None:
        await context.add_stream(self.stream, f"{self.subject}.>", **self.stream_settings)
        await context.add_consumer(self.stream, self.consumer, **self.consumer_settings)

    def actors(self, context: ActorContext) -> Sequence[Work]:
        return (
            context.publish_for_ever(f"{self.subject}.new", self.per_second),
            self._work(context),
        )

    async def _work(self, context: ActorContext) -> None:
        async def handle(messages: list[Msg]) -> None:
            await (self.misbehave(messages) if self.broken else ack_all(messages))

        await context.pull_for_ever(self.stream, self.consumer, handle, batch=self.batch)

    @abstractmethod
    async def misbehave(self, messages: list[Msg]) -> None: ...


class AbsenceFault(WorkerFault):
    """The worker stops while the fault is broken."""

    async def _work(self, context: ActorContext) -> None:
        while True:
            await self.switch.wait_until_healed()
            await context.pull_once(self.stream, self.consumer, ack_all, self.batch)

    async def misbehave(self, messages: list[Msg]) -> None:
        """Never called: the worker does not pull."""
