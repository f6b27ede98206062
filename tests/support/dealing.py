"""The order of a long run: what takes longest starts first, and no worker is left with two such tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def dealt(items: Sequence[T], weight: Callable[[T], float], workers: int) -> list[T]:
    """For `--dist worksteal`: each worker gets one part of the list, equal in number.

    A part begins with a heavy item, then come light ones, then other heavy ones. An idle worker steals
    from the end of a part, but never the item after the one that runs: that one is light.
    """
    heavy = sorted(filter(weight, items), key=weight, reverse=True)
    light = [item for item in items if not weight(item)]
    heads, tails = heavy[:workers], heavy[workers:]
    parts = []
    for number, size in enumerate(_sizes(len(items), workers)):
        ends = heads[number : number + 1], tails[number::workers]
        filler = size - len(ends[0]) - len(ends[1])
        parts.append((*ends[0], *light[: max(filler, 0)], *ends[1]))
        del light[: max(filler, 0)]
    return [item for part in parts for item in part] + light


def _sizes(items: int, workers: int) -> Iterator[int]:
    for left in range(workers, 0, -1):
        yield items // left
        items -= items // left
