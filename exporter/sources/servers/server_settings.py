"""What servers say of their own configuration; over the system account that is one more question."""

from __future__ import annotations

import time
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from msgspec.structs import replace

from exporter.model import ServerSettings, Snapshot
from exporter.sources.decoding.decode import known_time, positive, read_answer
from exporter.sources.decoding.server_decode import ServerAnswers
from exporter.sources.decoding.wire import WireVarz, WireVarzAnswer
from exporter.sources.request_context import Asking, LeftOut
from exporter.sources.transport.connection import Reply

QUESTION = "varz"
# Of the time that a poll has left: streams and consumers matter more.
SHARE_OF_TIME = 1 / 4


def server_settings(varz: WireVarz) -> ServerSettings:
    return ServerSettings(
        auth_required=varz.auth_required,
        tls_required=varz.tls_required,
        tls_expires=known_time(varz.tls_cert_not_after),
        max_payload=positive(varz.max_payload),
    )


@dataclass(slots=True)
class SettingsBook:
    """The settings of each life of a server, read now and then.

    What comes of the question is told beside the rest: its failure makes no snapshot incomplete.
    """

    wanted: bool
    interval: float
    left_out: LeftOut = field(default_factory=LeftOut)
    _known: dict[str, ServerSettings] = field(default_factory=dict)  # by server id
    _asked: frozenset[str] = frozenset()
    _read: float = float("-inf")

    def asking(self, deadline: float) -> Asking:
        now = time.monotonic()
        return Asking(now + (deadline - now) * SHARE_OF_TIME, self.left_out)

    def due(self, servers: Set[str], now: float) -> bool:
        """A server that has just started is asked at once, so that nothing of it is unknown."""
        late = now - self._read >= self.interval
        return self.wanted and bool(servers) and (late or not servers <= self._asked)

    def ask(self, servers: Set[str], now: float) -> None:
        """It is about to be asked: who does not answer is not asked at every poll."""
        self._asked, self._read = frozenset(servers), now

    def learn(self, replies: Iterable[Reply]) -> None:
        for reply in replies:
            answer = read_answer(WireVarzAnswer, reply.data, QUESTION)
            if answer.data is not None:
                self._known[answer.server.id] = server_settings(answer.data)

    def fill_in(self, answers: Iterable[ServerAnswers]) -> None:
        there = {answer.server.id: answer for answer in answers}
        self._known = {key: kept for key, kept in self._known.items() if key in there}
        for key, kept in self._known.items():
            there[key].settings = kept


def told_beside(snapshot: Snapshot, asking: Asking) -> Snapshot:
    rests = asking.left_out.skipped(time.monotonic())
    return replace(
        snapshot,
        outcomes=(*snapshot.outcomes, *asking.outcomes),
        skipped=(*snapshot.skipped, *rests),
    )
