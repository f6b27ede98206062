"""From the body of a request to what can be stored: either version, one request at a time."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from archive.remote_write.protobuf import MalformedError
from archive.remote_write.request_accumulator import Intake
from archive.remote_write.result import Decoded
from archive.remote_write.snappy import Unpacker
from archive.remote_write.v1.connection_cursor import Line
from archive.remote_write.v1.decoder import DecoderV1
from archive.remote_write.v1.warm_start import KnownBefore
from archive.remote_write.v2.decoder import DecoderV2
from archive.series.labels import LabelRules
from archive.series.live import LiveSeries, SeriesNumbers
from archive.settings.limits import Limits

QUICK_SIZE: Final = 4 << 20
"""Unpacked bytes that can be decoded between two other things; a usual request has one or two MiB.

Read field by field, as only a hostile one is, that much still takes less than two seconds.
"""


class Version(Enum):
    V1 = "1.0"
    V2 = "2.0"


class Decoder:
    """Not for two threads at once: it learns from every request."""

    def __init__(self, limits: Limits, replica_label: str, numbers: SeriesNumbers) -> None:
        self.live = LiveSeries(numbers, limits.live_series)
        self._limits = limits
        self._rules = LabelRules.of(limits, replica_label)
        self._unpacker = Unpacker(limits.decoded)
        self._v1 = DecoderV1(KnownBefore(numbers, self._rules, self.live))
        self._v2 = DecoderV2()
        self._line = Line()

    def size_of(self, body: bytes) -> int | None:
        """Unpacked; None when it is no such body, or announces too much."""
        try:
            return self._unpacker.size_of(body)
        except MalformedError:
            return None

    def decode(
        self, version: Version, body: bytes, sender: str, now: int, line: Line | None = None
    ) -> Decoded:
        """`now` in milliseconds. Raises MalformedError when it is no such request.

        `line` is that of the connection; those without one share one.
        """
        memory, (size,) = self._unpacker.unpack((body,))
        intake = Intake(self._limits, self._rules, self.live, now)
        if version is Version.V1:
            self._v1.decode(memory, size, intake, line or self._line)
        else:
            self._v2.decode(memory, size, intake)
        return intake.finish(sender)

    def decode_together(
        self, bodies: Sequence[bytes], lines: Sequence[Line], sender: str, now: int
    ) -> Decoded | None:
        """Requests of 1.0 as if they were one; None when they must be taken one by one."""
        intake = Intake(self._limits, self._rules, self.live, now)
        try:
            memory, ends = self._unpacker.unpack(bodies)
            plain = self._v1.decode_plain(memory, ends, lines, intake)
        except MalformedError:
            return None
        if not plain or intake.refusals:
            return None
        return intake.finish(sender)

    def forget_metadata(self) -> None:
        """Call it when a request could not be stored: its metadata must come again."""
        self._v1.metadata.clear()
        self._v2.metadata.clear()
        self._v2.known.forget_metadata()

    def forget_unused(self, now: int) -> int:
        """Drops what is remembered of series that nobody sends any more; tells how many."""
        alive = self.live.alive(now)
        return self._v1.table.forget(alive) + self._v2.known.forget(alive)

    @property
    def remembered(self) -> int:
        return len(self._v1.table) + len(self._v2.known)
