"""Numbers 8 to 11: publishes that expect a wrong last sequence."""

from __future__ import annotations

import asyncio
from typing import Final

from nats.js.errors import APIError
from support.lab.failure import Failure, Lab
from support.nats.servers import NEWEST, SYS

from streamgauge.cancellation import cancel


class Conflicts(Failure):
    """One publish in three expects a sequence that is not the last one."""

    account_sees = False  # codes are seen by the tap alone
    alert = "PublishConflictsHigh"
    beside = ("PublishesNotStored",)  # until the tap's counts are there, which inhibit it
    subject = ""
    header = "Nats-Expected-Last-Sequence"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=[self.subject])
        await lab.api.publish(self.subject, 1)

    async def provoke(self, lab: Lab) -> None:
        self._task = lab.start(self._publish(lab))

    async def _publish(self, lab: Lab) -> None:
        while True:
            await lab.api.publish(self.subject, 2)
            try:
                await lab.api.jetstream.publish(self.subject, b"x", headers={self.header: "1"})
            except APIError as error:
                assert error.err_code == 10071, error  # noqa: PT017  not a test
            await asyncio.sleep(0.2)

    async def remedy(self, lab: Lab) -> None:
        await lab.cli(f"nats stream info {self.stream} --json")
        await cancel([self._task])


class StaleExpectation(Conflicts):
    number, stream, subject = 8, "STALE", "stale"


class RacingWriters(Conflicts):
    number, stream, subject = 9, "RACING", "racing"
    header = "Nats-Expected-Last-Subject-Sequence"


class StreamRecreated(Failure):
    number, stream, alert = 10, "REMADE", "StreamRecreated"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["remade"])
        await lab.api.publish("remade", 5)

    async def provoke(self, lab: Lab) -> None:
        await lab.api.request("STREAM.DELETE.REMADE")
        await lab.api.stream(self.stream, subjects=["remade"])


class KnownBadVersion(Failure):
    """A server with a bug in its check of expected sequences; the remedy is an update."""

    number, stream, alert, check = 11, "", "ConfigFinding", "version-known-bad"
    VERSION: Final = "2.11.8"

    async def prepare(self, lab: Lab) -> None:
        """The version is all."""

    async def provoke(self, lab: Lab) -> None:
        assert lab.server.version == self.VERSION

    async def remedy(self, lab: Lab) -> None:
        assert self.VERSION in await lab.cli("nats server list", SYS)
        lab.server._wanted_version = NEWEST
        await lab.server.restart()
