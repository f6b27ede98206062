"""The order of a long run."""

from __future__ import annotations

from support.dealing import dealt

# Name and seconds.
HEAVY = [("a", 50), ("b", 900), ("c", 5400), ("d", 900), ("e", 2700), ("f", 60)]
LIGHT = [(f"light{number}", 0) for number in range(11)]


def weight(item: tuple[str, int]) -> int:
    return item[1]


def parts(workers: int) -> list[list[tuple[str, int]]]:
    """As `--dist worksteal` gives them to the workers."""
    order = dealt([*LIGHT, *HEAVY], weight, workers)
    found = []
    for left in range(workers, 0, -1):
        size = len(order) // left
        found.append(order[:size])
        order = order[size:]
    return found


def test_every_worker_begins_with_one_of_the_heaviest() -> None:
    assert [part[0] for part in parts(3)] == [("c", 5400), ("e", 2700), ("b", 900)]


def test_after_a_heavy_item_comes_a_light_one() -> None:
    assert all(part[1] in LIGHT for part in parts(3))


def test_the_other_heavy_items_are_at_the_ends_from_which_idle_workers_steal() -> None:
    assert [part[-1] for part in parts(3)] == [("d", 900), ("f", 60), ("a", 50)]


def test_nothing_is_lost_with_few_items() -> None:
    for count in range(len(HEAVY)):
        items = [*HEAVY[:count], *LIGHT[:2]]
        assert sorted(dealt(items, weight, 4)) == sorted(items)
