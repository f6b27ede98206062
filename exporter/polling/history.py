"""The last two hours of assets that are unwell, for the charts of the status pages. Pure.

Bounded: at most MAX_ASSETS of a system, each with at most MAX_POINTS points of a few numbers. That is
at most MAX_BYTES. Unwell assets above the bound are counted.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, nan

from exporter.model import Consumer, Server, Snapshot, Stream
from exporter.signals.conditions.held import HARMLESS, Held
from exporter.signals.conditions.streams import fill_ratio
from exporter.signals.results import ConsumerSignals, Signals

KEPT_SECONDS = 7200.0
# Two polls of the default interval.
SPACING_SECONDS = 25.0
MAX_POINTS = int(KEPT_SECONDS / SPACING_SECONDS)
MAX_ASSETS = 1000
MAX_BYTES = 16 * 1024**2

AssetKey = tuple[str, ...]  # the kind, then the names of the asset
# Values of a point after its time, by the kind of the asset.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "consumer": ("num_pending", "lag", "num_ack_pending", "redelivery_ratio", "delivered"),
    "stream": ("fill_ratio", "messages", "bytes", "last_seq"),
    "server": ("clock_offset", "storage", "memory", "cpu"),
}


@dataclass(slots=True)
class _Track:
    """Points one after another in one array: a reader in another thread copies it in one step."""

    points: array[float]
    unwell: float  # when it was last unwell


@dataclass(slots=True)
class History:
    dropped: int = 0  # unwell assets without a track, at the last point
    _tracks: dict[AssetKey, _Track] = field(default_factory=dict)
    _last: float = -inf

    def update(self, snapshot: Snapshot, signals: Signals) -> None:
        now = snapshot.taken
        if 0 <= now - self._last < SPACING_SECONDS:
            return
        self._last = now
        self._forget(now)
        self._choose(set(_unwell(signals)), now)
        for key, values in self._values(snapshot, signals):
            self._add(key, now, values)

    def columns(self, key: AssetKey) -> dict[str, list[float]]:
        """The series of an asset by name, with their times as `at`; empty without a track."""
        track = self._tracks.get(key)
        if track is None:
            return {}
        points, names = track.points[:], ("at", *COLUMNS[key[0]])
        return {name: list(points[place :: len(names)]) for place, name in enumerate(names)}

    def _forget(self, now: float) -> None:
        for key, track in list(self._tracks.items()):
            if now - track.unwell > KEPT_SECONDS or now < track.unwell:
                del self._tracks[key]

    def _choose(self, unwell: set[AssetKey], now: float) -> None:
        """An asset that has recovered gives way to one that is unwell."""
        for key in unwell & self._tracks.keys():
            self._tracks[key].unwell = now
        new = sorted(unwell - self._tracks.keys())
        recovered = [key for key, track in self._tracks.items() if track.unwell < now]
        recovered.sort(key=lambda key: self._tracks[key].unwell, reverse=True)
        taken = 0
        for key in new:
            if len(self._tracks) >= MAX_ASSETS:
                if not recovered:
                    break
                del self._tracks[recovered.pop()]
            self._tracks[key] = _Track(array("d"), now)
            taken += 1
        self.dropped = len(new) - taken

    def _values(
        self, snapshot: Snapshot, signals: Signals
    ) -> Iterator[tuple[AssetKey, tuple[float | None, ...]]]:
        # Most names are of well assets: a key is made only for names of tracked ones.
        names = {key[-1] for key in self._tracks}
        for row in snapshot.consumers:
            if row.name in names and row.up:
                one = signals.consumers.get((row.account, row.stream, row.name))
                yield ("consumer", row.account, row.stream, row.name), _of_consumer(row, one)
        for stream in snapshot.streams:
            if stream.name in names and stream.up:
                yield ("stream", stream.account, stream.name), _of_stream(stream)
        for server in snapshot.servers:
            if server.name in names and server.up:
                yield ("server", server.name), _of_server(server)

    def _add(self, key: AssetKey, now: float, values: tuple[float | None, ...]) -> None:
        track = self._tracks.get(key)
        if track is None:
            return
        track.points.extend([now, *(nan if value is None else value for value in values)])
        width = len(values) + 1
        if len(track.points) > MAX_POINTS * width:
            del track.points[:width]


def _unwell(signals: Signals) -> Iterator[AssetKey]:
    for key, one in signals.consumers.items():
        if one.conditions and _is_unwell(one.conditions):
            yield "consumer", *key
    for stream, held in signals.stream_conditions.items():
        if _is_unwell(held):
            yield "stream", *stream
    for server in signals.server_conditions:
        yield "server", server


def _is_unwell(held: Held) -> bool:
    return any(word not in HARMLESS for word, _ in held)


def _of_consumer(row: Consumer, signals: ConsumerSignals | None) -> tuple[float | None, ...]:
    lag, ratio = (signals.lag, signals.redelivery_ratio) if signals else (None, None)
    return row.num_pending, lag, row.num_ack_pending, ratio, row.delivered_consumer_seq


def _of_stream(row: Stream) -> tuple[float | None, ...]:
    return fill_ratio(row), row.messages, row.bytes, row.last_seq


def _of_server(row: Server) -> tuple[float | None, ...]:
    clock = row.clock.offset_seconds if row.clock else None
    return clock, row.storage_used, row.memory_used, row.cpu_ratio
