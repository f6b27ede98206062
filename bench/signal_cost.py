"""CPU time of the signals per consumer and poll, for consumers of each kind; no server is needed."""

from __future__ import annotations

import argparse
import gc
import random
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from bench.table import show
from exporter.main import GC_THRESHOLDS
from exporter.model import NO_THRESHOLDS, Consumer, ConsumerConfig, Snapshot, Stream, StreamConfig
from exporter.signals.engine import SignalState

_INTERVAL = 15.0
_START = 1_700_000_000.0
_EACH = 10  # consumers per stream
_STREAM = StreamConfig(
    "limits", "old", "file", "none", "stream", 1, "", False, ("orders.>",),
    None, None, None, None, None, None, NO_THRESHOLDS,
)  # fmt: skip
_CONSUMER = ConsumerConfig(
    True, "pull", "explicit", "all", "instant", (), "none", False, False, 1,
    30.0, 5, 1000, 512, (), NO_THRESHOLDS,
)  # fmt: skip

# Messages stored, delivered and unacked at a poll.
Load = Callable[[int, random.Random], tuple[int, int, int]]


def _idle(_: int, __: random.Random) -> tuple[int, int, int]:
    return 1000, 1000, 0


def _busy(poll: int, chance: random.Random) -> tuple[int, int, int]:
    """1,500 messages a poll; all are delivered at once."""
    return 1500 * poll, 1500 * poll, chance.randrange(50)


def _queueing(poll: int, chance: random.Random) -> tuple[int, int, int]:
    """The same with a backlog that comes and goes, but is never empty."""
    return 1500 * poll + 500, 1500 * poll + chance.randrange(450), 50


def _deserted(_: int, __: random.Random) -> tuple[int, int, int]:
    return 1000, 998, 0


def _behind(poll: int, chance: random.Random) -> tuple[int, int, int]:
    return 1500 * poll, 1400 * poll - chance.randrange(1000), 50


LOADS: dict[str, Load] = {
    "idle": _idle,
    "busy": _busy,
    "busy with a backlog": _queueing,
    "no worker pulls": _deserted,
    "falling behind": _behind,
}


def _snapshot(load: Load, poll: int, consumers: int, chance: random.Random) -> Snapshot:
    now = _START + _INTERVAL * poll
    made, stored_at = datetime.fromtimestamp(_START, UTC), datetime.fromtimestamp(now - 1, UTC)
    streams: list[Stream] = []
    rows: list[Consumer] = []
    for number in range(consumers // _EACH):
        name = f"stream-{number}"
        last, _, _ = load(poll, chance)
        streams.append(
            Stream("APP", name, True, "", "n1", "", _STREAM, made, last, last * 50, 1, last,
                   made, stored_at)
        )  # fmt: skip
        for place in range(_EACH):
            last, sent, unacked = load(poll, chance)
            floor = max(0, sent - unacked)
            rows.append(
                Consumer("APP", name, f"worker-{place}", True, "", "n1", _CONSUMER, made, sent,
                         sent, floor, floor, last - sent, unacked, 0, int(load is not _deserted),
                         stored_at if unacked else made, made, stream_first_seq=1)
            )  # fmt: skip
    return Snapshot("bench", now, tuple(streams), tuple(rows))


def _measure(load: Load, consumers: int, polls: int, warm: int) -> tuple[float, float]:
    """Microseconds per consumer: the fastest poll and the median."""
    state, chance, spent = SignalState(), random.Random(1), []  # noqa: S311
    known: tuple[Consumer, ...] = ()
    for poll in range(1, warm + polls + 1):
        snapshot = _snapshot(load, poll, consumers, chance)
        if known:  # as sources do it
            pairs = zip(known, snapshot.consumers, strict=True)
            rows = tuple(before if before == row else row for before, row in pairs)
            snapshot = replace(snapshot, consumers=rows)
        known = snapshot.consumers
        began = time.process_time()
        state.update(snapshot)
        if poll > warm:
            spent.append((time.process_time() - began) / consumers * 1e6)
    return min(spent), statistics.median(spent)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--consumers", type=int, default=20_000)
    parser.add_argument("--polls", type=int, default=40)
    parser.add_argument("--warm", type=int, default=30, help="polls before the first measured one")
    words = parser.parse_args(argv)
    gc.set_threshold(*GC_THRESHOLDS)
    rows = []
    for name, load in LOADS.items():
        fastest, median = _measure(load, words.consumers, words.polls, words.warm)
        rows.append((name, f"{fastest:.2f}", f"{median:.2f}"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    title = f"signals: microseconds of CPU per consumer and poll; peak {peak:.0f} MB"
    show(f"{title} ({words.consumers:,} consumers)", ("consumers", "fastest", "median"), rows)


if __name__ == "__main__":
    main()
