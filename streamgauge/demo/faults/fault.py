"""What a switchable failure of the demo is: assets in good health, a break, and the true remedy."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from typing import Any, ClassVar

from nats.aio.msg import Msg

from streamgauge.demo.actors.context import Stage, ack_all

Work = Coroutine[Any, Any, None]
Settings = dict[str, Any]


class Switch:
    """Broken or whole; workers may wait for either."""

    def __init__(self) -> None:
        self._whole = asyncio.Event()
        self._fallen = asyncio.Event()
        self._whole.set()

    @property
    def broken(self) -> bool:
        return self._fallen.is_set()

    def turn(self, *, broken: bool) -> None:
        begun, ended = (self._fallen, self._whole) if broken else (self._whole, self._fallen)
        begun.set()
        ended.clear()

    async def whole(self) -> None:
        await self._whole.wait()

    async def fallen(self) -> None:
        await self._fallen.wait()


class Fault(ABC):
    """One object, one failure on assets of its own; breaking and healing may alternate for ever."""

    name: ClassVar[str]
    what: ClassVar[str]  # what happens, one sentence
    place: ClassVar[str]  # STREAM or STREAM > consumer
    alerts: ClassVar[tuple[str, ...]]  # any of these tells of it, without the prefix JetStream
    verdict: ClassVar[str] = ""  # as the status page says it; "" where no consumer is judged
    remedy: ClassVar[str]  # what `heal` does
    needs_cluster: ClassVar[bool] = False

    def __init__(self) -> None:
        self.switch = Switch()

    @property
    def broken(self) -> bool:
        return self.switch.broken

    async def prepare(self, stage: Stage) -> None:  # noqa: B027 (some have no assets)
        """Makes the assets, in good health."""

    def actors(self, stage: Stage) -> Sequence[Work]:
        """Who is at work there for as long as the demo lasts."""
        return ()

    async def harm(self, stage: Stage) -> None:  # noqa: B027 (the switch may be all)
        """Beyond turning the switch."""

    async def mend(self, stage: Stage) -> None:  # noqa: B027
        """Beyond turning the switch back."""


class WorkerFault(Fault):
    """A stream, a steady publisher and one pull worker, whose conduct is what breaks."""

    stream: ClassVar[str]
    consumer: ClassVar[str]
    per_second: ClassVar[float] = 4
    batch: ClassVar[int] = 10
    stream_settings: ClassVar[Settings] = {}
    consumer_settings: ClassVar[Settings] = {}

    @property
    def subject(self) -> str:
        return self.stream.lower()

    async def prepare(self, stage: Stage) -> None:
        await stage.add_stream(self.stream, f"{self.subject}.>", **self.stream_settings)
        await stage.add_consumer(self.stream, self.consumer, **self.consumer_settings)

    def actors(self, stage: Stage) -> Sequence[Work]:
        return (
            stage.publish_for_ever(f"{self.subject}.new", self.per_second),
            self._work(stage),
        )

    async def _work(self, stage: Stage) -> None:
        async def handle(messages: list[Msg]) -> None:
            await (self.misbehave(messages) if self.broken else ack_all(messages))

        await stage.pull_for_ever(self.stream, self.consumer, handle, batch=self.batch)

    @abstractmethod
    async def misbehave(self, messages: list[Msg]) -> None: ...


class AbsenceFault(WorkerFault):
    """The worker goes away while it is broken."""

    async def _work(self, stage: Stage) -> None:
        while True:
            await self.switch.whole()
            await stage.pull_once(self.stream, self.consumer, ack_all, self.batch)

    async def misbehave(self, messages: list[Msg]) -> None:
        """It is not there."""
