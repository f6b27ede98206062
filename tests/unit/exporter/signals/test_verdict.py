"""The verdict is the gravest condition, and of several verdicts the worst counts."""

from __future__ import annotations

from itertools import pairwise

import pytest

from exporter import catalog
from exporter.signals.conditions.words import RATIOS, Condition
from exporter.signals.verdict import Verdict, verdict, worst


def test_every_condition_has_its_verdict() -> None:
    judged = [each for each in Condition if each not in RATIOS]
    found = [verdict(((each, 0.0),), paused=False, idle=True) for each in judged]
    assert set(found) == set(Verdict) - {Verdict.OK, Verdict.IDLE, Verdict.PAUSED}
    for each in RATIOS:
        assert verdict(((each, 0.0),), paused=False, idle=True) is Verdict.IDLE


def test_the_words_of_the_catalogue_are_those_of_the_verdicts() -> None:
    assert len(catalog.VERDICTS) == len(Verdict)
    assert catalog.VERDICTS[Verdict.LONG_JOBS] == "busy with long jobs"


def test_a_pause_outranks_all_but_a_missing_leader() -> None:
    for each in Condition:
        found = verdict(((each, 0.0),), paused=True, idle=False)
        alone = Verdict.NO_LEADER if each is Condition.NO_LEADER else Verdict.PAUSED
        assert found is alone


def test_gravity_is_the_order_of_the_conditions() -> None:
    """But for the two names of one verdict."""
    judged = [each for each in Condition if each not in RATIOS]
    ranks = [verdict(((each, 0.0),), paused=False, idle=False) for each in judged]
    for graver, other in pairwise(ranks):
        assert worst(graver, other) == graver


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((None, None), None),
        ((None, Verdict.IDLE), Verdict.IDLE),
        ((Verdict.IDLE, Verdict.OK), Verdict.OK),
        ((Verdict.LONG_JOBS, Verdict.OK), Verdict.LONG_JOBS),
        ((Verdict.LONG_JOBS, Verdict.FALLING_BEHIND), Verdict.FALLING_BEHIND),
        ((Verdict.PAUSED, Verdict.FALLING_BEHIND), Verdict.FALLING_BEHIND),
        ((Verdict.ACK_FLOOR_STUCK, Verdict.ACK_PENDING_FULL), Verdict.ACK_PENDING_FULL),
        ((Verdict.NO_LEADER, Verdict.LOSING_MESSAGES), Verdict.NO_LEADER),
    ],
)
def test_of_several_the_worst_is_reported(
    verdicts: tuple[int | None, ...], expected: int | None
) -> None:
    assert worst(*verdicts) == expected
    assert worst(*reversed(verdicts)) == expected
