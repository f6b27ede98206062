"""Whatever happens to a stream and its consumers: counters never go back, and bounds hold.

A server in a few lines stands for the real one here; the same laws are held to real servers in
tests/integration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.examples import examples
from support.exporter.models import NOW, consumer, stream
from support.signals.small_server import SmallConsumer, SmallServer

from exporter.model import Consumer, Snapshot
from exporter.signals.engine import SignalState
from exporter.signals.results import ConsumerSignals

COMMON = ("publish", "publish", "send", "send_again", "ack")
RARE = (
    "limit", "narrow", "purge", "purge_subject", "delete", "make_again", "forget_acks",
)  # fmt: skip
WEIGHTED = st.sampled_from([*COMMON * 5, *RARE, *["look"] * 8])
Steps = list[tuple[str, int, int]]
steps = st.lists(st.tuples(WEIGHTED, st.integers(0, 5), st.integers(1, 9)), min_size=5, max_size=80)
servers = st.sampled_from([(None, "old"), (20, "old"), (40, "old"), (20, "new")])


@dataclass
class Watched:
    """One consumer's life, from its first poll to its end."""

    born: float
    start: ConsumerSignals
    lost_before: int  # when its stream was polled first, and when the consumer was
    lost: int
    purged_before: int
    again: int
    last: ConsumerSignals


@given(servers, steps)
@settings(max_examples=examples(400), deadline=None)
def test_what_is_reported_holds(limits: tuple[int | None, str], history: Steps) -> None:
    small, state, now = SmallServer(*limits), SignalState(), NOW
    watched: dict[str, Watched] = {}
    doing = iter([*history, ("look", 0, 1)])
    for act, which, count in doing:
        if act != "look":
            getattr(small, act)(which, count)
            continue
        now += 3 * count
        row, small.purged = small.stream(now), False
        gone = {(one.name, one.born): (one.lost, one.purged) for one in small.consumers}
        for _ in range(which - 3):  # between the two requests of one poll
            meanwhile, *how = next(doing, ("look", 0, 0))
            if meanwhile not in ("look", "make_again", "limit"):
                getattr(small, meanwhile)(how[0], 1)
        rows = _some_silent(small.rows(row.first_seq), which, count)
        small.stopped &= not all(each.up for each in rows) or len(rows) < len(small.consumers)
        result = state.update(
            Snapshot("nats", now, streams=(row,), consumers=rows, complete=False)
        ).consumers
        for one in small.consumers:
            if not any(each.name == one.name and each.up for each in rows):
                continue
            _check(watched, one, result["APP", "ORDERS", one.name], *gone[one.name, one.born])


def _some_silent(rows: tuple[Consumer, ...], which: int, count: int) -> tuple[Consumer, ...]:
    """In some polls one consumer has no leader, or is not listed."""
    if count < 7 or which >= len(rows):
        return rows
    silent = () if count == 9 else (replace(rows[which], up=False),)
    return (*rows[:which], *silent, *rows[which + 1 :])


def _check(
    watched: dict[str, Watched],
    one: SmallConsumer,
    result: ConsumerSignals,
    lost_before: int,
    purged_before: int,
) -> None:
    begun = watched.get(one.name)
    if begun is None or begun.born != one.born:
        # A new life adds nothing to what was counted before.
        assert begun is None or _counters(result) == _counters(begun.last)
        watched[one.name] = Watched(
            one.born, result, lost_before, one.lost, purged_before, one.again, result
        )
        return
    redelivered, lost, most, purged = (
        now - then for now, then in zip(_counters(result), _counters(begun.start), strict=True)
    )
    for now, then in zip(_counters(result), _counters(begun.last), strict=True):
        assert now >= then
    begun.last = result
    assert redelivered <= one.again - begun.again
    assert lost <= one.lost - begun.lost_before
    assert most >= lost_before - begun.lost
    assert lost <= most
    assert purged <= one.purged - begun.purged_before
    assert result.lag is None or result.lag >= 0.0
    assert (result.stalled or 0.0) >= 0.0


def _counters(result: ConsumerSignals) -> tuple[int, int, int, int]:
    assert result.lost is not None
    assert result.lost_upper is not None
    assert result.purged is not None
    return result.redeliveries, result.lost, result.lost_upper, result.purged


@given(steps)
@settings(max_examples=examples(100), deadline=None)
def test_the_same_polls_at_the_same_times_give_the_same_signals(
    history: Steps,
) -> None:
    """Nothing is read but what is given: no clock, no chance."""

    def all_results() -> list[Any]:
        small, state, now, result = SmallServer(20), SignalState(), NOW, []
        for act, which, count in history:
            if act == "look":
                now += 3 * count
                row = small.stream(now)
                rows = small.rows(row.first_seq)
                result.append(state.update(Snapshot("nats", now, streams=(row,), consumers=rows)))
            else:
                getattr(small, act)(which, count)
        return result

    assert all_results() == all_results()


@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=20))
def test_the_state_keeps_nothing_of_what_is_gone(presence: list[set[int]]) -> None:
    state = SignalState()
    for number, present in enumerate(presence):
        rows = tuple(consumer(f"c{place}") for place in present)
        names = tuple(stream(f"S{place}") for place in present)
        state.update(Snapshot("nats", NOW + number, streams=(stream(), *names), consumers=rows))
    assert {name for _, _, name in state._consumers} == {f"c{place}" for place in presence[-1]}
    assert len(state._streams) == 1 + len(presence[-1])
