"""A workload that knows, message by message, what it did: sent, sent again, lost, purged.

Every delivery happens inside `fetch` and every response is confirmed, so nothing moves during a poll.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from support.exporter.source_polls import api, create_consumer, create_stream
from support.signals.publishing import publish
from support.waiting import until

from exporter.signals.loss.coverage import covers

ACK: Final = b"+ACK"
NAK: Final = b"-NAK"
TERM: Final = b"+TERM"
IN_PROGRESS: Final = b"+WPI"
MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000 * MILLISECOND
# How long a pull waits at the server: its end is a response, so no wait is in vain.
_PULL: Final = 40 * MILLISECOND
_PATIENCE_SECONDS: Final = 20.0


class Truth(NamedTuple):
    """What an exporter counts."""

    lost: int = 0
    purged: int = 0
    redeliveries: int = 0
    lowered: int = 0  # of the lost ones: by a limit that was lowered

    def plus(self, other: "Truth") -> "Truth":
        return Truth(*(a + b for a, b in zip(self, other, strict=True)))

    def less(self, other: "Truth") -> "Truth":
        return Truth(*(a - b for a, b in zip(self, other, strict=True)))


NOTHING: Final = Truth()


@dataclass
class Ledger:
    """What became of every message, for one consumer."""

    stream: str
    consumer: str
    filters: tuple[str, ...]
    first: int  # messages before this one are none of its business
    sent: Counter[int] = field(default_factory=Counter)
    lost: int = 0
    purged: int = 0
    picked: list[int] = field(default_factory=list)  # of the purged: one by one, or by subject
    lowered: int = 0
    held: dict[int, Msg] = field(default_factory=dict)  # not acked yet, by sequence
    naks: int = 0

    @property
    def deliveries(self) -> int:
        return self.sent.total()

    @property
    def redeliveries(self) -> int:
        return self.sent.total() - len(self.sent)

    @property
    def truth(self) -> Truth:
        return Truth(self.lost, self.purged, self.redeliveries, self.lowered)

    def wants(self, seq: int, subject: str) -> bool:
        """Whether it may still get it."""
        return self.concerns(seq, subject)

    def concerns(self, seq: int, subject: str) -> bool:
        passes = not self.filters or any(covers(wide, subject) for wide in self.filters)
        return passes and seq >= self.first


@dataclass
class Workload:
    """One stream, its consumers, and a client that does to them what a test says."""

    client: Client
    stream: str
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    stored: dict[int, str] = field(default_factory=dict)  # sequence -> subject, still there
    _arrived: dict[str, asyncio.Queue[Msg]] = field(default_factory=dict)
    _inboxes: dict[str, str] = field(default_factory=dict)

    async def create(self, **config: Any) -> None:
        usual = {"subjects": [f"{self.stream.lower()}.>"], "storage": "file"}
        await create_stream(self.client, self.stream, **usual | config)

    async def consumer(self, name: str, **config: Any) -> Ledger:
        """Explicit acks, a long ack_wait, and all messages from the first stored one on."""
        usual: dict[str, Any] = {"ack_wait": 600 * SECOND}
        made = await create_consumer(self.client, self.stream, name, **usual | config)
        filters = config.get("filter_subjects") or [config.get("filter_subject")]
        start = made["delivered"]["stream_seq"] + 1
        ledger = Ledger(self.stream, name, tuple(f for f in filters if f), start)
        self.ledgers[name] = ledger
        await self._listen(name)
        return ledger

    async def continue_with(self, client: Client) -> None:
        """The server was away, and the old client with it."""
        self.client = client
        for name in self.ledgers:
            await self._listen(name)

    async def _listen(self, name: str) -> None:
        self._inboxes[name] = self.client.new_inbox()
        self._arrived[name] = asyncio.Queue()
        await self.client.subscribe(self._inboxes[name], cb=self._arrived[name].put)
        await self.client.flush()

    async def publish(self, count: int = 1, subject: str = "a") -> None:
        whole = f"{self.stream.lower()}.{subject}"
        for _ in range(count):
            response = await publish(self.client, whole, b"x" * 16)
            assert "error" not in response, response
            self.stored[response["seq"]] = whole
        await self.note_gone()

    async def fetch(self, name: str, count: int = 1, *, wait: bool = False) -> list[Msg]:
        """What the server sends for one pull; less than `count` if there is less and no `wait`."""
        ledger, arrived = self.ledgers[name], self._arrived[name]
        expires = 20 * SECOND if wait else _PULL
        request = json.dumps({"batch": count, "expires": expires}).encode()
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{name}"
        await self.client.publish(subject, request, reply=self._inboxes[name])
        got: list[Msg] = []
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while len(got) < count:
                message = await arrived.get()
                if message.headers and "Status" in message.headers:
                    break
                got.append(message)
                sequence = message.metadata.sequence.stream
                ledger.sent[sequence] += 1
                ledger.held[sequence] = message
        return got

    async def fetch_all(self, name: str, count: int) -> list[int]:
        """The sequences of just so many deliveries: a pull without a response is made again.

        No leader received it; or it expired on a busy machine before a 2.9 server read it.
        """
        ledger, before = self.ledgers[name], Counter(self.ledgers[name].sent)

        async def missing() -> int:
            with suppress(TimeoutError):
                await self.fetch(name, count - (ledger.sent - before).total())
            return count - (ledger.sent - before).total()

        await until(missing, lambda left: left == 0, f"{name} does not get {count} messages")
        return sorted(ledger.sent - before)

    async def drain(self, name: str, response: bytes = ACK) -> None:
        """Fetches and acks until nothing comes."""
        while got := await self.fetch(name, 50):
            await self.response(name, (m.metadata.sequence.stream for m in got), response)

    async def response(self, name: str, sequences: Iterable[int], word: bytes = ACK) -> None:
        """As a request: once it gets a response, the server has acted upon it."""
        ledger = self.ledgers[name]
        for sequence in list(sequences):
            held = ledger.held[sequence] if word == IN_PROGRESS else ledger.held.pop(sequence)
            await self.client.request(held.reply, word, timeout=_PATIENCE_SECONDS)
            ledger.naks += word.startswith(NAK)
        await self.note_gone()

    async def purge(self, **how: Any) -> None:
        await self._done(f"STREAM.PURGE.{self.stream}", how)
        await self.note_gone(by_hand=self.stored)

    async def delete(self, sequence: int) -> None:
        await self._done(f"STREAM.MSG.DELETE.{self.stream}", {"seq": sequence})
        await self.note_gone(by_hand=self.stored)

    async def info(self, name: str) -> Any:
        return await self._done(f"CONSUMER.INFO.{self.stream}.{name}")

    async def state(self, **how: Any) -> Any:
        response = await self._done(f"STREAM.INFO.{self.stream}", how)
        return response["state"]

    async def message(self, sequence: int, **how: Any) -> Any:
        """As it is stored, with its `seq` and its `time`."""
        request = {"seq": sequence, **how}
        return (await self._done(f"STREAM.MSG.GET.{self.stream}", request))["message"]

    async def note_gone(
        self, *, by_hand: Iterable[int] = (), picked: bool = False, lowered: bool = False
    ) -> None:
        """Compares with the server's own list what is still stored; limits took the rest."""
        state = await self.state(deleted_details=True)
        deleted, purged = set(state.get("deleted") or ()), set(by_hand)
        for sequence in [s for s in self.stored if s < state["first_seq"] or s in deleted]:
            subject = self.stored.pop(sequence)
            for ledger in self.ledgers.values():
                if sequence in ledger.sent or not ledger.concerns(sequence, subject):
                    continue
                ledger.purged += sequence in purged
                ledger.picked += [sequence] if picked and sequence in purged else []
                lost = sequence not in purged and ledger.wants(sequence, subject)
                ledger.lost += lost
                ledger.lowered += lost and lowered

    def waiting(self, ledger: Ledger) -> set[int]:
        """Stored, wanted, and never sent."""
        return {
            seq
            for seq, subject in self.stored.items()
            if ledger.wants(seq, subject) and seq not in ledger.sent
        }

    async def until_expired(self) -> None:
        """Until the stream's own limits have emptied it."""
        await until(self.state, lambda state: state["messages"] == 0, "messages do not expire")
        await self.note_gone()

    async def _done(self, subject: str, request: dict[str, Any] | None = None) -> Any:
        response = await api(self.client, subject, request or None)
        assert "error" not in response, (subject, response["error"])
        return response
