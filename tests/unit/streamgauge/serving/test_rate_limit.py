"""Events a minute, by kind."""

import logging

import pytest

from streamgauge.serving.rate_limit import MinuteBudget, RateLimitedLog


def test_each_kind_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = 0.0
    log = RateLimitedLog(logging.getLogger("test"), lambda: clock)
    for clock in (0.0, 10.0, 59.0, 61.0):
        for sender in ("eu", "us"):
            log.log((sender, "size"), logging.WARNING, f"refused at {clock:.0f}", sender=sender)
    output = [record.message for record in caplog.records]
    assert output == ["refused at 0", "refused at 0", "refused at 61", "refused at 61"]
    for repeat in range(500):
        log.log(repeat, logging.WARNING, "another")
    assert len(caplog.records) < 110


def test_an_event_of_several_kinds_is_counted_for_each() -> None:
    budget = MinuteBudget(2, lambda: 0.0)
    assert [budget.spend("a") for _ in range(3)] == [True, True, False]
    assert [budget.spend("a", "b") for _ in range(3)] == [True, True, False]
    assert not budget.spend("b")
    assert budget.spend("c")
