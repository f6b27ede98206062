"""A stream whose limits, subjects and consumers change, and a ledger of what each removed.

Between two operations the order is certain: each one ends with the server's own list of what is left.
"""

import asyncio
import functools
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from support.exporter.source_polls import api, create_stream
from support.signals.ledger import ACK, NOTHING, TERM, Ledger, Truth, Workload
from support.waiting import until

# A time of creation that moved by less may be a restart of an old server.
_DISTINCT_SECONDS: Final = 1.05
_STORE_FAILED: Final = 10077  # a limit of a discard-new stream
_PATIENCE_SECONDS: Final = 20.0


class Stored(NamedTuple):
    """Between these two moments of the test's clock, which is the server's."""

    earliest: float
    latest: float


@dataclass
class Life(Ledger):
    """A consumer from its creation to its deletion."""

    max_deliver: int = -1
    done: set[int] = field(default_factory=set)  # acked or terminated
    # Still stored, but the server moved the consumer past them (2.9, a purge by subject).
    skipped: set[int] = field(default_factory=set)
    born: float = field(default_factory=time.monotonic)

    def wants(self, seq: int, subject: str) -> bool:
        return seq not in self.skipped and super().wants(seq, subject)

    def may_be_exhausted(self, seq: int) -> bool:
        return 0 < self.max_deliver <= self.sent[seq]


@dataclass
class MixedWorkload(Workload):
    config: dict[str, Any] = field(default_factory=dict)
    lives: dict[str, Life] = field(default_factory=dict)
    times: dict[int, Stored] = field(default_factory=dict)
    ended: Truth = NOTHING  # what was true of consumers that are deleted
    born: float = 0.0

    async def create(self, **config: Any) -> None:
        prefix = self.stream.lower()
        # 2.9 leaves the last sequence out of the deleted ones of a stream in memory.
        usual = {"subjects": [f"{prefix}.{each}" for each in "abc"], "storage": "file"}
        self.config = {"name": self.stream, **usual, **config}
        await create_stream(self.client, **self.config)
        self.born = time.monotonic()
        for source in config.get("sources", ()):
            await self._publish_origin(source["name"], 1)  # when it is here, the source works

    @property
    def limits_remove(self) -> bool:
        sizes = {"max_msgs", "max_bytes"} & self.config.keys()
        return "max_age" in self.config or (bool(sizes) and self.config.get("discard") != "new")

    @property
    def origin(self) -> str | None:
        return next((source["name"] for source in self.config.get("sources", ())), None)

    async def update(self, **changes: Any) -> None:
        """Messages that a lower limit removes are lost like any that a limit removes."""
        self.config |= changes
        await self.note_gone()
        await self._done(f"STREAM.UPDATE.{self.stream}", self.config)
        await self.note_gone(lowered=True)

    async def do(self, subject: str, request: dict[str, Any]) -> None:
        await self._done(subject, request)

    async def consumer(self, name: str, **config: Any) -> Life:
        last = (await self.state())["last_seq"]
        made = await super().consumer(name, **config)
        first = last + 1 if config.get("deliver_policy") == "new" else 0
        life = Life(
            self.stream, name, made.filters, first, max_deliver=config.get("max_deliver", -1)
        )
        self.lives[name] = self.ledgers[name] = life
        return life

    async def delete_consumer(self, name: str) -> None:
        await _distinct(self.lives[name].born)
        await self._done(f"CONSUMER.DELETE.{self.stream}.{name}")
        self._end(self.lives[name])

    async def delete_stream(self) -> None:
        await _distinct(max(self.born, *(life.born for life in self.lives.values())))
        if self.origin:  # else its messages would come again
            await self._done(f"STREAM.PURGE.{self.origin}")
        await self._done(f"STREAM.DELETE.{self.stream}")
        for life in list(self.lives.values()):
            self._end(life)
        self.stored.clear()
        self.times.clear()

    def _end(self, life: Life) -> None:
        self.ended = self.ended.plus(life.truth)
        del self.lives[life.consumer], self.ledgers[life.consumer]

    @property
    def truth(self) -> Truth:
        """Of all its consumers, the deleted ones too."""
        return functools.reduce(
            Truth.plus, (life.truth for life in self.lives.values()), self.ended
        )

    async def publish(self, count: int = 1, subject: str = "a") -> None:
        """What a full discard-new stream refuses was never there."""
        whole = f"{self.stream.lower()}.{subject}"
        for _ in range(count):
            before = time.time()
            reply = await self.client.request(whole, b"x" * 16, timeout=_PATIENCE_SECONDS)
            response = json.loads(reply.data)
            if response.get("error", {}).get("err_code") == _STORE_FAILED:
                break
            assert "error" not in response, response
            self._store(response["seq"], whole, before)
        await self.note_gone()

    async def publish_to_source(self, count: int) -> None:
        assert self.origin
        await self._publish_origin(self.origin, count)
        await self.note_gone()

    async def _publish_origin(self, origin: str, count: int) -> None:
        last, before = (await self.state())["last_seq"], time.time()
        for _ in range(count):
            await self.client.request(origin.lower(), b"x", timeout=_PATIENCE_SECONDS)
        until_here = f"{self.stream} does not receive from {origin}"
        await until(self.state, lambda state: state["last_seq"] == last + count, until_here)
        for sequence in range(last + 1, last + count + 1):
            self._store(sequence, origin.lower(), before)

    def _store(self, sequence: int, subject: str, before: float) -> None:
        self.stored[sequence] = subject
        self.times[sequence] = Stored(before, time.time())

    async def response(self, name: str, sequences: Iterable[int], word: bytes = ACK) -> None:
        chosen = list(sequences)
        await super().response(name, chosen, word)
        if word in (ACK, TERM):
            self.lives[name].done.update(chosen)

    async def purge(self, **how: Any) -> None:
        limit, subject = how.get("seq"), how.get("filter")

        def is_meant(sequence: int) -> bool:
            return (limit is None or sequence < limit) and subject in (None, self.stored[sequence])

        await self._remove(f"STREAM.PURGE.{self.stream}", how, is_meant)
        for life in self.lives.values():
            await self._note_skipped(life)

    async def _note_skipped(self, life: Life) -> None:
        info = await self.info(life.consumer)
        position = info["delivered"]["stream_seq"]
        ahead = (seq for seq, subject in self.stored.items() if life.wants(seq, subject))
        life.skipped.update(seq for seq in ahead if seq <= position and seq not in life.sent)
        if info["num_ack_pending"] == 0:
            life.done.update(life.sent)

    async def delete(self, sequence: int) -> None:
        await self._remove(
            f"STREAM.MSG.DELETE.{self.stream}", {"seq": sequence}, lambda each: each == sequence
        )

    async def _remove(
        self, subject: str, how: dict[str, Any], is_meant: Callable[[int], bool]
    ) -> None:
        await self.note_gone()
        meant = sorted(filter(is_meant, self.stored))
        response = await api(self.client, subject, how or None)
        # What grew too old in the moment before was not there any more.
        removed = response.get("purged", len(meant)) if "error" not in response else 0
        picked = "filter" in how or ".MSG.DELETE." in subject
        await self.note_gone(by_hand=meant[len(meant) - removed :], picked=picked)

    def oldest(self, life: Life, *, with_exhausted: bool) -> Stored | None:
        """When the oldest message that the consumer has not finished was stored."""
        for sequence, subject in sorted(self.stored.items()):
            if not life.wants(sequence, subject) or sequence in life.done:
                continue
            if with_exhausted or not life.may_be_exhausted(sequence):
                return self.times[sequence]
        return None


async def _distinct(born: float) -> None:
    """So that what is created next differs from it in its time of creation."""
    await asyncio.sleep(max(0.0, born + _DISTINCT_SECONDS - time.monotonic()))
