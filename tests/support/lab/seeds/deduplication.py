"""Numbers 12 to 16: deduplication that does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from support.lab.failure import Failure, Lab, seconds
from support.lab.seeds.kinds import Configured


class WindowShort(Configured):
    number, stream, check = 12, "WINDOW", "dupe-window-short"
    config: Final = {"duplicate_window": seconds(30)}
    fix = "nats stream edit WINDOW --dupe-window 5m --force"


class RestartForgets(Configured):
    number, stream, check = 14, "FORGETS", "dupe-not-restart-safe"
    config: Final = {"retention": "interest", "duplicate_window": seconds(300)}
    fix = "nats stream edit FORGETS --retention limits --force"


class DedupeMemory(Failure):
    """The lab's threshold is 1 MiB: 4,369 ids."""

    number, stream, alert = 15, "IDS", "DedupeMemoryHigh"

    async def prepare(self, lab: Lab) -> None:
        await lab.api.stream(self.stream, subjects=["ids"], duplicate_window=seconds(1200))

    async def provoke(self, lab: Lab) -> None:
        for number in range(6000):
            await lab.api.client.publish("ids", b"x", headers={"Nats-Msg-Id": str(number)})
        await lab.api.client.flush(timeout=30)

    async def remedy(self, lab: Lab) -> None:
        await lab.cli("nats stream edit IDS --dupe-window 10s --force")


class SourcedWithoutWindow(Configured):
    number, stream, check = 16, "SOURCED", "dupe-window-off"
    fix = "nats stream edit SOURCED --dupe-window 2m --force"

    async def provoke(self, lab: Lab) -> None:
        await lab.api.stream("ORIGIN", subjects=["origin"])
        await lab.api.stream(
            self.stream,
            subjects=["sourced"],
            sources=[{"name": "ORIGIN"}],
            metadata={"io.streamgauge.idempotent-writers": "true"},
        )


class IdsMissing(Failure):
    """Headers are read by the audit alone: it finds this, and no alert follows from it."""

    number, stream, alert = 13, "NOIDS", ""
    ids = ("", "1", "", "2")  # of two messages, each sent twice
    found: ClassVar[dict[str, str]] = {"ids-missing": "2 of the last 4 messages have an id"}

    async def prepare(self, lab: Lab) -> None:
        subjects = [self.stream.lower()]
        await lab.api.stream(self.stream, subjects=subjects, duplicate_window=seconds(300))

    async def provoke(self, lab: Lab) -> None:
        await self._publish(lab, self.ids)
        await self._audited(lab, self.found)
        await lab.api.request(f"STREAM.PURGE.{self.stream}", {})
        await self._publish(lab, ("3", "3", "4", "4"))  # the remedy: an id for each message
        await self._audited(lab, {})

    async def _publish(self, lab: Lab, ids: Sequence[str]) -> None:
        for number, name in enumerate(ids):
            headers = {"Nats-Msg-Id": name} if name else None
            payload = f"a message of some length, {number // 2}".encode()
            await lab.api.jetstream.publish(self.stream.lower(), payload, headers=headers)

    async def _audited(self, lab: Lab, wanted: Mapping[str, str]) -> None:
        (system,) = (await lab.audit("--sample-messages"))["systems"]
        found = {
            one["check"]: one["evidence"]
            for one in system["findings"]
            if one["stream"] == self.stream and one["check"].startswith("ids-")
        }
        assert found == wanted


class IdsUnstable(IdsMissing):
    stream = "NEWIDS"
    ids = ("1", "2", "3", "4")
    found: ClassVar = {
        "ids-unstable": "2 of the last 4 messages repeat another one with another id"
    }
