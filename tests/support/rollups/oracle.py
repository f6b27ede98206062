"""A reference implementation of the rollups in plain Python, after FORMAT.md and docs/rollups.md."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

from support.archive.folder import STALE, bits_of
from support.rollups.archive import DAY, HOUR, Labels, Sample

from exporter.catalog import BY_NAME
from spark_rollups import metric_selection

SUBJECT_LABELS = ("system", "account", "stream", "consumer", "server")
FOLDED = {
    "job", "instance", "pod", "namespace", "endpoint", "container", "service", "prometheus",
    "prometheus_replica", "__name__",
}  # fmt: skip
FIVE_MINUTES = 300_000
CONDITION = "_condition_start_timestamp_seconds"
# They exist while their subject is watched.
WATCHED = ("streamgauge_consumer_verdict", "streamgauge_stream_up", "streamgauge_server_up")

Identity = tuple[Any, ...]
Samples = dict[int, float | None]  # by time; None is a stale marker


class Oracle:
    def __init__(
        self, samples: Iterable[Sample], hourly: Sequence[str] = metric_selection.HOURLY
    ) -> None:
        self._hourly = hourly
        self.series: dict[Labels, Samples] = defaultdict(dict)
        for labels, time, value in samples:
            self.series[labels][time] = None if bits_of(value) == STALE else float(value)

    def hours(self) -> dict[tuple[Identity, int], dict[str, Any]]:
        """Per identity and hour, from the series with most samples; extremes are those of all series."""
        found: dict[tuple[Identity, int], tuple[Any, dict[str, Any]]] = {}
        seen: dict[tuple[Identity, int], list[float]] = defaultdict(list)
        for labels, samples in self.series.items():
            for hour, row in _hours_of(samples).items():
                rank = (-row["count"], _fingerprint(labels))
                key = identity(labels), hour
                seen[key] += row["min"], row["max"]
                if key not in found or rank < found[key][0]:
                    found[key] = rank, row
        return {
            key: {**row, "min": min(seen[key]), "max": max(seen[key])}
            for key, (_, row) in found.items()
        }

    def hourly_gauges(self) -> list[dict[str, Any]]:
        return _sorted(
            {
                **identity_columns(key),
                "day": _day(hour // DAY),
                "hour": _moment(hour),
                **_rising_only(key, row),
            }
            for (key, hour), row in self.hours().items()
            if key[0] in self._hourly
        )

    def daily(self) -> list[dict[str, Any]]:
        days: dict[tuple[Identity, int], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
        for (key, hour), row in self.hours().items():
            days[key, hour // DAY].append((hour, row))
        return _sorted(
            {
                **identity_columns(key),
                "day": _day(day),
                **_rising_only(key, _day_row(sorted(rows, key=_first))),
            }
            for (key, day), rows in days.items()
        )

    def quantiles(self) -> list[dict[str, Any]]:
        rows = []
        for (key, day), samples in self._days(metric_selection.QUANTILES).items():
            numbers = sorted(v for _, v in samples if v is not None and not math.isnan(v))
            if numbers:
                values = {f"p{round(q * 100)}": quantile(numbers, q) for q in (0.5, 0.95, 0.99)}
                rows.append(
                    {**identity_columns(key), "day": _day(day), "count": len(numbers), **values}
                )
        return _sorted(rows)

    def states(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        watched: dict[Any, float] = defaultdict(float)
        for (key, day), samples in self._days(metric_selection.STATES).items():
            held: dict[float, list[int]] = defaultdict(list)
            ends = [time for time, _ in samples[1:]] + [(day + 1) * DAY]
            for (time, value), end in zip(samples, ends, strict=True):
                if value is not None and not math.isnan(value):
                    # The series of a condition exists while it holds: its value does not matter.
                    state = 1.0 if key[0].endswith(CONDITION) else value
                    held[state].append(min(end - time, FIVE_MINUTES))
            rows += [
                {**identity_columns(key), "day": _day(day), "value": value,
                 "samples": len(times), "seconds": sum(times) / 1000}
                for value, times in held.items()
            ]  # fmt: skip
            if key[0] in WATCHED:
                watched[_subject(identity_columns(key)), _day(day)] += sum(map(sum, held.values()))
        for row in rows:
            known = watched.get((_subject(row), row["day"]))
            row["known_seconds"] = None if known is None else known / 1000
        return _sorted(rows)

    def _days(self, metrics: tuple[str, ...]) -> dict[tuple[Identity, int], list[Any]]:
        """The samples of each identity and day, each hour from one series, with stale markers."""
        hours: dict[tuple[Identity, int], tuple[Any, list[Any]]] = {}
        for labels, samples in self.series.items():
            if dict(labels)["__name__"] not in metrics:
                continue
            chunks: dict[int, list[Any]] = defaultdict(list)
            for time, value in sorted(samples.items(), key=_first):
                chunks[time // HOUR].append((time, value))
            for hour, chunk in chunks.items():
                numbers = sum(v is not None and not math.isnan(v) for _, v in chunk)
                rank = (-numbers, _fingerprint(labels))
                key = identity(labels), hour
                if key not in hours or rank < hours[key][0]:
                    hours[key] = rank, chunk
        days: dict[tuple[Identity, int], list[Any]] = defaultdict(list)
        for (key, hour), (_, chunk) in sorted(hours.items(), key=lambda item: item[0][1]):
            days[key, hour * HOUR // DAY].extend(chunk)
        return days


def _hours_of(samples: Samples) -> dict[int, dict[str, Any]]:
    """Of one series; only hours with samples."""
    hours: dict[int, list[float]] = defaultdict(list)
    for time, value in sorted(samples.items(), key=_first):
        if value is not None and not math.isnan(value):
            hours[time // HOUR * HOUR].append(value)
    rows: dict[int, dict[str, Any]] = {}
    before: tuple[int, float] | None = None
    for hour, numbers in sorted(hours.items()):
        known = before is not None and hour - before[0] <= 24 * HOUR
        steps = [before[1], *numbers] if known and before is not None else numbers
        pairs = list(pairwise(steps))
        rows[hour] = {
            "count": len(numbers), "min": min(numbers), "max": max(numbers),
            "sum": _added(numbers), "first": numbers[0], "last": numbers[-1],
            "p95": quantile(sorted(numbers), 0.95),
            "increase": _added(b if b < a else b - a for a, b in pairs),
            "resets": sum(b < a for a, b in pairs),
        }  # fmt: skip
        before = hour, numbers[-1]
    return rows


def _day_row(rows: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    of = [row for _, row in rows]
    return {
        "count": sum(row["count"] for row in of), "hours": len(of),
        "min": min(row["min"] for row in of), "max": max(row["max"] for row in of),
        "sum": _added(row["sum"] for row in of),
        "first": of[0]["first"], "last": of[-1]["last"],
        "first_hour": _moment(rows[0][0]), "last_hour": _moment(rows[-1][0]),
        "increase": _added(row["increase"] for row in of),
        "resets": sum(row["resets"] for row in of),
        "hour_bits": sum(1 << hour % DAY // HOUR for hour, _ in rows),
    }  # fmt: skip


def _added(numbers: Iterable[float]) -> float:
    held = list(numbers)
    try:
        return math.fsum(held)
    except (ValueError, OverflowError):  # infinities of both signs, or beyond all numbers
        return sum(held)


def quantile(numbers: list[float], q: float) -> float:
    rank = q * (len(numbers) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(numbers) - 1)
    if numbers[low] == numbers[high] or rank == low:
        return numbers[low]
    return numbers[low] * (1 - (rank - low)) + numbers[high] * (rank - low)


def identity(labels: Labels) -> Identity:
    by_name = dict(labels)
    others = tuple(
        sorted((k, v) for k, v in by_name.items() if k not in SUBJECT_LABELS and k not in FOLDED)
    )
    return (by_name["__name__"], *(by_name.get(name, "") for name in SUBJECT_LABELS), others)


def identity_columns(key: Identity) -> dict[str, Any]:
    metric, *place, others = key
    return {
        "metric": metric,
        "kind": _kind(metric),
        **dict(zip(SUBJECT_LABELS, place, strict=True)),
        "labels": dict(others),
    }


def _subject(row: dict[str, Any]) -> tuple[Any, ...]:
    others = sorted((k, v) for k, v in row["labels"].items() if k != "condition")
    return (*(row[name] for name in SUBJECT_LABELS), *others)


def _kind(metric: str) -> str:
    if metric in BY_NAME:
        return BY_NAME[metric].kind.value
    if metric.endswith("_bucket"):
        return "histogram"
    return "counter" if metric.endswith("_total") else "gauge"


def _rising_only(key: Identity, row: dict[str, Any]) -> dict[str, Any]:
    if _kind(key[0]) in ("counter", "histogram"):
        return row
    return {**row, "increase": None, "resets": 0}


def _fingerprint(labels: Labels) -> bytes:
    text = b"".join(k.encode() + b"\xfe" + v.encode() + b"\xff" for k, v in labels)
    return hashlib.blake2b(text, digest_size=16).digest()


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _moment(time: int) -> datetime:
    return datetime.fromtimestamp(time / 1000, UTC)


def _day(number: int) -> date:
    return _moment(number * DAY).date()


def _sorted(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=order)


def order(row: dict[str, Any]) -> str:
    """A sort key without computed values."""
    names = ("metric", *SUBJECT_LABELS, "labels", "day", "hour", "value")
    return repr([row.get(name) for name in names])


def differences(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> list[str]:
    """Lists the differences. Sums may differ in the last bits."""
    if len(found) != len(wanted):
        return [f"{len(found)} rows, {len(wanted)} wanted"]
    lines = []
    for ours, theirs in zip(found, wanted, strict=True):
        if ours.keys() != theirs.keys():
            lines.append(f"columns {ours.keys() ^ theirs.keys()}")
        lines += [
            f"{order(ours)}: {name} is {ours[name]!r}, not {theirs[name]!r}"
            for name in ours
            if not _same(name, ours[name], theirs.get(name), theirs)
        ]
    return lines


def _same(name: str, ours: Any, theirs: Any, row: dict[str, Any]) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        if name in ("sum", "increase") and math.isfinite(theirs):
            size = max(abs(row["min"]), abs(row["max"])) * max(row["count"], 1)
            whole = theirs == int(theirs) and size < 2**53
            return (
                ours == theirs
                if whole and ours == int(ours)
                else abs(ours - theirs) <= 1e-12 * size
            )
    return bool(ours == theirs)
