"""What became of a request, in a form that can be compared: nothing in it depends on order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from archive.batch import NO_SERIES, Batch
from archive.remote_write.decoder import SLACK, Decoder, Version
from archive.remote_write.protobuf import MalformedError
from archive.remote_write.request_accumulator import RequestAccumulator
from archive.remote_write.result import Decoded, SeriesMessage
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.remote_write.v1.series import read_messages
from archive.remote_write.v2.request import read_request
from archive.remote_write.v2.series import read_series
from archive.series.labels import LabelRules, Labels
from archive.series.live import LiveSeries
from archive.series.table import SeriesTable
from archive.settings.limits import Limits

REPLICA = "__replica__"

Row = tuple[Labels, str, int, int, int]  # labels, replica, time, bits, start
Thing = tuple[str, Labels, int, bytes]  # kind, labels, time, data


@dataclass(frozen=True)
class Outcome:
    """Equal for requests that mean the same."""

    malformed: bool = False
    rows: frozenset[tuple[Row, int]] = frozenset()
    things: frozenset[tuple[Thing, int]] = frozenset()
    refused: frozenset[tuple[str, int]] = frozenset()


MALFORMED = Outcome(malformed=True)


def rows_of(batch: Batch, table: SeriesTable) -> list[Row]:
    starts = [0] * len(batch.series) if batch.starts is None else batch.starts.tolist()
    columns = (batch.series.tolist(), batch.times.tolist(), batch.values.tolist(), starts)
    rows = []
    for series, time, bits, start in zip(*columns, strict=True):
        known = table.definition(series)
        rows.append((known.labels, known.replica, time, bits, start))
    return rows


def things_of(batch: Batch, table: SeriesTable) -> list[Thing]:
    return [
        (
            each.kind.name,
            () if each.series == NO_SERIES else table.definition(each.series).labels,
            each.time,
            each.data,
        )
        for each in batch.opaque
    ]


class DecoderHarness:
    """A decoder with a table of its own, and beside it the slow reader of every rule."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.table = SeriesTable()
        self.decoder = Decoder(self.limits, REPLICA, self.table)

    def restart(self, limits: Limits | None = None, replica: str = REPLICA) -> None:
        """Another process on the same folder: the table is known, and nothing else."""
        self.limits = limits or self.limits
        self.decoder = Decoder(self.limits, replica, self.table)

    def decode(
        self, version: Version, body: bytes, now: int, cursor: ConnectionCursor | None = None
    ) -> Decoded:
        return self.decoder.decode(version, body, "test", now, cursor)

    def outcome(
        self, version: Version, body: bytes, now: int, cursor: ConnectionCursor | None = None
    ) -> Outcome:
        try:
            decoded = self.decode(version, body, now, cursor)
        except MalformedError:
            return MALFORMED
        return _outcome(decoded, self.table)

    def slow_outcome(self, version: Version, message: bytes, now: int) -> Outcome:
        """By the rules alone, without anything remembered."""
        table = SeriesTable()
        live = LiveSeries(table, self.limits.live_series)
        accumulator = RequestAccumulator(
            self.limits, LabelRules.of(self.limits, REPLICA), live, now
        )
        memory = bytearray(message + bytes(SLACK))
        try:
            messages = _read_slowly(version, memory, len(message), accumulator)
        except MalformedError:
            return MALFORMED
        for each in messages:
            series = accumulator.take(each) if isinstance(each, SeriesMessage) else NO_SERIES
            reported = each.metadata if isinstance(each, SeriesMessage) else each
            if reported is not None and (
                series != NO_SERIES or not isinstance(each, SeriesMessage)
            ):
                accumulator.add_metadata(series, reported.data)
        return _outcome(accumulator.finish("test"), table)


def _read_slowly(
    version: Version, memory: bytearray, size: int, accumulator: RequestAccumulator
) -> list[object]:
    if version is Version.V1:
        return list(read_messages(memory, size, accumulator))
    request = read_request(memory, size, accumulator)
    places = zip(request.starts.tolist(), request.stops.tolist(), strict=True)
    return [read_series(memory, *place, request.texts, accumulator) for place in places]


def _outcome(decoded: Decoded, table: SeriesTable) -> Outcome:
    return Outcome(
        rows=frozenset(Counter(rows_of(decoded.batch, table)).items()),
        # Repeated metadata is stored once by the cached decoders, and not by the others.
        things=frozenset(
            (thing, 0 if thing[0] == "METADATA" else count)
            for thing, count in Counter(things_of(decoded.batch, table)).items()
        ),
        refused=frozenset(decoded.refusals.counts.items()),
    )
