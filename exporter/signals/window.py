"""The recent past of one consumer, as few points as tell it: one where nothing changed."""

from __future__ import annotations

from msgspec import Struct, field

WINDOW_SECONDS = 300.0
SPACING_SECONDS = 30.0


class Point(Struct, frozen=True, gc=False):
    """How a consumer stood; it stood so until the next point."""

    at: float
    deliveries: int
    redeliveries: int
    lost: int
    backlog: int
    floor: int
    acks: int | None = None  # None: nobody counts them
    naks: int = 0

    def stands_as(self, other: Point) -> bool:
        return (
            self.deliveries == other.deliveries
            and self.backlog == other.backlog
            and self.floor == other.floor
            and self.lost == other.lost
            and self.redeliveries == other.redeliveries
            and self.acks == other.acks
            and self.naks == other.naks
        )


class Window(Struct, gc=False):
    """Oldest point first. The first one may be older than the window: it stood at its beginning."""

    points: list[Point] = field(default_factory=list)

    def note(self, point: Point) -> None:
        points = self.points
        if not points:
            self.points = [point]  # not appended: for most it stays the only one, and takes less
            return
        while len(points) > 1 and points[1].at <= point.at - WINDOW_SECONDS:
            del points[0]
        newest = points[-1]
        if point.at < newest.at:  # our own clock was set back: what is kept lies in the future
            points[:] = [point]
        elif point.at - newest.at >= SPACING_SECONDS and not point.stands_as(newest):
            points.append(point)

    def clear(self) -> None:
        self.points.clear()


def redelivery_ratio(first: Point, now: Point) -> float | None:
    """None without deliveries between the two."""
    delivered = now.deliveries - first.deliveries
    return (now.redeliveries - first.redeliveries) / delivered if delivered > 0 else None
