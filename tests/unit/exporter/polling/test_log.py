"""Log lines of polls: each change once, and exceptions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from support.exporter.scripted_poller import (
    NOW,
    REFUSED,
    RESPONDED,
    outage,
    own,
    polled,
    poller_of,
    served_names,
    snapshot,
)

from exporter.model import Consumer, Fault, Outcome, Server, Snapshot
from exporter.samples.render import Limits


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The lines since the last call: level, message and fields."""
    caplog.set_level(logging.INFO)

    def lines() -> list[str]:
        found = [_line(record) for record in caplog.records]
        caplog.clear()
        return found

    return lines


def _line(record: logging.LogRecord) -> str:
    fields = getattr(record, "fields", {})
    counts = "".join(f" {key}={value}" for key, value in fields.items() if key != "system")
    return f"{record.levelname} {record.getMessage()}{counts}"


# --- bugs of the exporter -------------------------------------------------------------------------


async def test_an_exception_is_counted_logged_and_survived(log: Callable[[], list[str]]) -> None:
    poller, _ = poller_of(KeyError("boom"), KeyError("boom"), snapshot())
    await polled(poller, 2)
    assert own(poller)["poll_errors_total", "poll", "internal"] == 2
    assert own(poller)["up",] == 0
    assert poller.state.polls == 2
    assert log() == ["ERROR poll failed error='boom'"]
    await poller.poll_once()
    assert own(poller)["up",] == 1
    assert "INFO polls succeed again" in log()


async def test_a_failed_rendering_keeps_the_counts_of_its_requests() -> None:
    unwritable = Consumer("APP", "ORDERS", "x", True, "", "n1", None, num_pending="many")  # type: ignore[arg-type]
    poller, _ = poller_of(
        snapshot(), snapshot(consumers=(unwritable,), outcomes=(*RESPONDED, *REFUSED))
    )
    await polled(poller, 2)
    counts = own(poller)
    assert counts["poll_errors_total", "poll", "internal"] == 1
    assert counts["poll_errors_total", "stream_list", "connection"] == 1
    assert "streamgauge_consumer_num_pending" in served_names(poller, NOW)


async def test_a_source_that_never_comes_back_is_given_up(log: Callable[[], list[str]]) -> None:
    poller, source = poller_of(snapshot(), timeout=0.01)
    poller.grace = 0.01

    async def hang() -> None:
        await asyncio.Event().wait()

    source.before_response = hang
    await poller.poll_once()
    assert own(poller)["poll_errors_total", "poll", "internal"] == 1
    assert log() == [
        "ERROR poll failed error=the poll did not end within 0.01 s after its deadline"
    ]


async def test_a_timeout_inside_a_source_is_not_taken_for_its_deadline(
    log: Callable[[], list[str]],
) -> None:
    poller, _ = poller_of(TimeoutError("a lock of ours"))
    await poller.poll_once()
    assert log() == ["ERROR poll failed error=a lock of ours"]


def test_the_representation_of_a_poller_shows_neither_source_nor_data() -> None:
    poller, source = poller_of(snapshot())
    assert "MemorySource" in repr(source)
    assert "MemorySource" not in repr(poller)


# --- the log --------------------------------------------------------------------------------------


async def test_successful_polls_are_logged_once(log: Callable[[], list[str]]) -> None:
    poller, _ = poller_of(snapshot())
    await polled(poller)
    series = poller.state.rendered.series
    await polled(poller, 4)
    assert log() == [
        "INFO server responds server=n1",
        f"INFO first response streams=1 consumers=1 series={series}",
    ]


async def test_each_change_is_logged_once_when_it_begins_and_once_when_it_ends(
    log: Callable[[], list[str]],
) -> None:
    poller, _ = poller_of(snapshot(), outage(), outage(), outage(), outage(), snapshot(NOW + 60))
    await polled(poller)
    log()
    await polled(poller, 2, at=NOW + 30)
    assert log() == [
        "WARNING request failed request=stream_list reason=connection"
        " detail=nats://127.0.0.1:1: refused",
        "WARNING server does not respond server=n1",
    ]
    await polled(poller, 2, at=NOW + 46)
    assert log() == ["ERROR no response for three intervals, series dropped"]
    await polled(poller, 2, at=NOW + 60)
    assert log() == [
        "INFO request succeeded again request=stream_list",
        "INFO server responds server=n1",
        "INFO series served again",
    ]


async def test_another_reason_is_another_line(log: Callable[[], list[str]]) -> None:
    def failing(reason: str) -> Snapshot:
        outcome = Outcome("stream_list", False, 0.1, reason, "so it is")
        return snapshot(outcomes=(RESPONDED[1], outcome), complete=False)

    poller, _ = poller_of(failing("timeout"), failing("timeout"), failing("permission"))
    await polled(poller, 3)
    assert [line for line in log() if "request failed" in line] == [
        "WARNING request failed request=stream_list reason=timeout detail=so it is",
        "WARNING request failed request=stream_list reason=permission detail=so it is",
    ]


@pytest.mark.parametrize(
    ("first", "begun", "over"),
    [
        (
            {"faults": (Fault("consumer_list", "threshold", 2, "worker: x"),)},
            "WARNING part of a response dropped request=consumer_list reason=threshold"
            " count=2 detail=worker: x",
            "INFO responses complete again request=consumer_list reason=threshold",
        ),
        (
            {"servers": (Server("n1", "ID1", True), Server("n2", "ID2", True))},
            "INFO server responds server=n2",
            "INFO server removed server=n2",
        ),
    ],
)
async def test_what_comes_and_goes_is_logged_twice(
    log: Callable[[], list[str]], first: dict[str, Any], begun: str, over: str
) -> None:
    poller, _ = poller_of(snapshot(**first), snapshot(**first), snapshot())
    await polled(poller, 2)
    assert log().count(begun) == 1
    await polled(poller, 2)
    assert log() == [over]


async def test_a_count_that_wavers_is_no_news(log: Callable[[], list[str]]) -> None:
    responses = (
        snapshot(faults=(Fault("consumer_list", "threshold", count, "x"),)) for count in (2, 3, 2)
    )
    poller, _ = poller_of(*responses)
    await polled(poller, 3)
    assert sum("dropped" in line for line in log()) == 1


async def test_the_cap_is_logged_when_it_is_reached(log: Callable[[], list[str]]) -> None:
    group: Iterable[Consumer] = (
        Consumer("APP", "ORDERS", f"c{number}", True, "", "n1", None) for number in range(50)
    )
    poller, _ = poller_of(snapshot(consumers=tuple(group)), limits=Limits(max_series=300))
    await polled(poller)
    dropped = poller.state.rendered.dropped
    await polled(poller, 2)
    assert (
        log().count(
            f"WARNING series above max_series dropped, raise it or filter names dropped={dropped}"
        )
        == 1
    )


async def test_too_many_removed_assets_are_logged_once(
    log: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.signals.engine.KEEP_REMOVED", 2)
    group = tuple(
        Consumer("APP", "ORDERS", f"c{number}", True, "", "n1", None) for number in range(5)
    )
    hour = 3601.0
    poller, _ = poller_of(
        snapshot(consumers=group),
        snapshot(NOW + 15),
        snapshot(NOW + 30),
        snapshot(NOW + 15 + hour),
    )
    await polled(poller)
    log()
    await polled(poller, 2, NOW + 30)
    assert log() == [
        "WARNING too many assets removed in an hour, some that come back do not count as "
        "recreated dropped=3"
    ]
    await polled(poller, 1, NOW + 15 + hour)
    assert log() == ["INFO all removed assets of the last hour are known again"]


async def test_polls_longer_than_the_interval_are_logged_once(log: Callable[[], list[str]]) -> None:
    poller, source = poller_of(snapshot(), interval=0.005)

    async def slow() -> None:
        await asyncio.sleep(0.01)

    source.before_response = slow
    await polled(poller, 3)
    assert sum("poll takes longer than the interval, raise it" in line for line in log()) == 1
