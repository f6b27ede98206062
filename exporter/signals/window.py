"""The last minutes of one consumer, as few points: one while nothing changes."""

from __future__ import annotations

from msgspec import Struct, field

from exporter.tempo import scaled

WINDOW_SECONDS = scaled(300.0)
SPACING_SECONDS = WINDOW_SECONDS / 10


class Point(Struct, frozen=True, gc=False):
    """Values of a consumer, valid until the next point."""

    at: float
    deliveries: int
    redeliveries: int
    lost: int
    backlog: int
    floor: int
    acks: int | None = None  # None: unknown
    naks: int = 0
    lost_upper: int = 0
    unacked: int = 0

    @property
    def first_deliveries(self) -> int:
        return self.deliveries - self.redeliveries

    def same_values(self, other: Point) -> bool:
        return (
            self.deliveries == other.deliveries
            and self.backlog == other.backlog
            and self.floor == other.floor
            and self.lost == other.lost
            and self.lost_upper == other.lost_upper
            and self.redeliveries == other.redeliveries
            and self.acks == other.acks
            and self.naks == other.naks
        )


class Window(Struct, gc=False):
    """Oldest point first. The first may be older than the window: it was valid at its start."""

    points: list[Point] = field(default_factory=list)

    def note(self, point: Point) -> None:
        points = self.points
        if not points:
            self.points = [point]  # not appended: a list of one item needs less memory
            return
        while len(points) > 1 and points[1].at <= point.at - WINDOW_SECONDS:
            del points[0]
        newest = points[-1]
        if point.at < newest.at:  # the exporter's clock was set back
            points[:] = [point]
        elif point.at - newest.at >= SPACING_SECONDS and not point.same_values(newest):
            points.append(point)

    def clear(self) -> None:
        self.points.clear()


def finished(first: Point, now: Point) -> int:
    """Messages that were acked, terminated or given up between the two."""
    return now.first_deliveries - first.first_deliveries - (now.unacked - first.unacked)


def redelivery_ratio(first: Point, now: Point) -> float | None:
    """None without deliveries between the two."""
    delivered = now.deliveries - first.deliveries
    return (now.redeliveries - first.redeliveries) / delivered if delivered > 0 else None
