"""Requests received by a clock that jumps: each sample is published exactly once."""

from pathlib import Path

import pytest
from support.archive.folder import DAY, HOUR, MONDAY, ArchiveFolder, Reported, truth_of

MINUTE = 60_000


@pytest.mark.parametrize("jump", [-3 * DAY, -DAY, -HOUR, -MINUTE, MINUTE, HOUR, DAY, 400 * DAY])
def test_a_jump_loses_and_doubles_nothing(tmp_path: Path, jump: int) -> None:
    sent: list[Reported] = []
    with ArchiveFolder(tmp_path) as folder:
        for minute in range(180):
            at = MONDAY + minute * MINUTE
            is_wrong = 60 <= minute < 120
            clock = at + jump if is_wrong else at
            reported: list[Reported] = [("up", at, float(minute)), ("down", at, -float(minute))]
            folder.send(reported, received=clock)
            sent += reported
            if minute % 10 == 9:
                folder.publish_due(clock)
        folder.publish_due(MONDAY + 4 * HOUR)
        folder.publish_all()
        assert folder.samples() == truth_of(sent)
