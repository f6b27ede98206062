"""The poll loop over a source in memory: deadlines, staleness, counting, and a quiet log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter import catalog
from exporter.events.counts import EventCounts
from exporter.model import Consumer, Fault, Outcome, Server, Skipped, Snapshot, Stream
from exporter.poll import JITTER, LEAST_REST, SystemPoller, pause
from exporter.samples.render import Limits, Renderer
from exporter.watch import system_samples

NOW = 1_794_800_000.0
INTERVAL = 15.0
ANSWERED = (Outcome("stream_list", True, 0.01), Outcome("consumer_list", True, 0.02))
REFUSED = (Outcome("stream_list", False, 0.1, "connection", "nats://127.0.0.1:1: refused"),)
WORKER = Consumer("APP", "ORDERS", "worker", True, "", "n1", None, num_pending=7)
ORDERS = Stream("APP", "ORDERS", True, "", "n1", "", None)


def snapshot(taken: float = NOW, **changes: Any) -> Snapshot:
    said: dict[str, Any] = {
        "streams": (ORDERS,),
        "consumers": (WORKER,),
        "servers": (Server("n1", "ID1", True),),
        "outcomes": ANSWERED,
        "servers_expected": 1,
        "servers_answered": 1,
    }
    return Snapshot("test", taken, **(said | changes))


def silence(taken: float = NOW) -> Snapshot:
    """Nobody answered: the source still names the server, as down."""
    return Snapshot(
        "test",
        taken,
        servers=(Server("n1", "ID1", False),),
        outcomes=REFUSED,
        servers_expected=1,
        servers_answered=0,
        complete=False,
    )


@dataclass
class MemorySource:
    """Gives what it was told to, one answer per poll, the last one for ever."""

    answers: list[Snapshot | Exception]
    deadlines: list[float] = field(default_factory=list)
    closed: bool = False
    before_answer: Callable[[], Awaitable[None]] | None = None

    async def poll(self, deadline: float) -> Snapshot:
        self.deadlines.append(deadline)
        if self.before_answer is not None:
            await self.before_answer()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        self.closed = True


def poller_of(
    *answers: Snapshot | Exception,
    interval: float = INTERVAL,
    timeout: float = 10.0,
    limits: Limits | None = None,
) -> tuple[SystemPoller, MemorySource]:
    source = MemorySource(list(answers))
    renderer = Renderer("test", limits=limits or Limits())
    return SystemPoller(
        "test", "account", ("nats://x",), source, renderer, interval, timeout
    ), source


async def polled(poller: SystemPoller, times: int = 1, at: float = NOW) -> None:
    poller.clock = lambda: at
    for _ in range(times):
        await poller.poll_once()


def served_names(poller: SystemPoller, now: float) -> set[str]:
    return {block.metric.name for block in poller.served(now).blocks}


def own(poller: SystemPoller, now: float = NOW) -> dict[tuple[str, ...], float]:
    """The exporter's own series of this system, without their common first label."""
    return {
        (sample.metric.name.removeprefix("streamgauge_"), *sample.labels[1:]): sample.value
        for sample in system_samples(poller, now)
    }


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The lines since the last look: level, message and fields."""
    caplog.set_level(logging.INFO)

    def lines() -> list[str]:
        found = [_line(record) for record in caplog.records]
        caplog.clear()
        return found

    return lines


def _line(record: logging.LogRecord) -> str:
    fields = getattr(record, "fields", {})
    told = "".join(f" {key}={value}" for key, value in fields.items() if key != "system")
    return f"{record.levelname} {record.getMessage()}{told}"


# --- the loop -------------------------------------------------------------------------------------


async def test_one_poll_ends_before_the_next_begins() -> None:
    poller, source = poller_of(snapshot(), interval=0.01)
    running, most, third = 0, 0, asyncio.Event()

    async def slow() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.03)  # three intervals: an eager loop would overtake itself
        running -= 1
        if len(source.deadlines) == 3:
            third.set()

    source.before_answer = slow
    task = asyncio.create_task(poller.run())
    await third.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert most == 1


async def test_the_source_is_told_the_deadline_of_the_poll() -> None:
    poller, source = poller_of(snapshot(), timeout=7.0)
    before = time.monotonic()
    await poller.poll_once()
    assert before + 7.0 <= source.deadlines[0] <= time.monotonic() + 7.0


async def test_a_cancelled_loop_closes_its_source() -> None:
    poller, source = poller_of(snapshot())
    asked = asyncio.Event()

    async def tell() -> None:
        asked.set()

    source.before_answer = tell
    task = asyncio.create_task(poller.run())
    await asked.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert source.closed


@given(interval=st.floats(1, 3600), took=st.floats(0, 7200), chance=st.floats(0, 1))
def test_the_pause_stays_within_its_bounds(interval: float, took: float, chance: float) -> None:
    seconds = pause(interval, took, chance)
    assert seconds >= LEAST_REST * interval
    if took < interval * (1 - JITTER - LEAST_REST):
        between_starts = took + seconds
        assert interval * (1 - JITTER) <= between_starts + 1e-6
        assert between_starts <= interval * (1 + JITTER) + 1e-6


def test_the_jitter_uses_the_whole_of_its_bounds() -> None:
    assert pause(10, 0, 0.0) == pytest.approx(10 * (1 - JITTER))
    assert pause(10, 0, 0.5) == pytest.approx(10)
    assert pause(10, 0, 1.0) == pytest.approx(10 * (1 + JITTER))


def test_a_poll_longer_than_the_interval_is_still_followed_by_a_rest() -> None:
    assert pause(10, 25, 0.5) == pytest.approx(10 * LEAST_REST)


# --- what is served -------------------------------------------------------------------------------


async def test_before_the_first_poll_nothing_is_claimed() -> None:
    poller, _ = poller_of(snapshot())
    assert own(poller) == {}
    assert served_names(poller, NOW) == set()


async def test_an_answer_is_served_with_its_age() -> None:
    poller, _ = poller_of(snapshot())
    await poller.poll_once()
    told = own(poller, NOW + 4)
    assert told["up",] == 1
    assert told["snapshot_age_seconds",] == 4
    assert told["servers_expected",] == told["servers_answered",] == 1
    assert told["question_success", "consumer_list"] == 1
    assert told["question_duration_seconds", "consumer_list"] == 0.02
    assert told["series",] == poller.served(NOW).series > 0
    assert "streamgauge_consumer_num_pending" in served_names(poller, NOW)


async def test_series_are_dropped_after_three_intervals_and_not_before() -> None:
    poller, _ = poller_of(snapshot())
    await poller.poll_once()
    limit = NOW + 3 * INTERVAL
    assert "streamgauge_consumer_num_pending" in served_names(poller, limit)
    assert served_names(poller, limit + 0.001) == set()
    assert own(poller, limit + 0.001)["series",] == 0


async def test_when_nobody_answers_the_last_answer_stays_until_it_is_stale() -> None:
    poller, _ = poller_of(snapshot(), silence(NOW + 15))
    await polled(poller, 2)
    assert "streamgauge_consumer_num_pending" in served_names(poller, NOW + 16)
    told = own(poller, NOW + 16)
    assert told["up",] == 0
    assert told["snapshot_age_seconds",] == 16
    assert told["servers_answered",] == 0


async def test_in_silence_only_the_servers_are_left_and_they_are_down() -> None:
    poller, _ = poller_of(snapshot(), silence(NOW + 15))
    await polled(poller, 2)
    assert served_names(poller, NOW + 46) == {"streamgauge_server_up", "streamgauge_server_info"}
    block = next(
        block for block in poller.served(NOW + 46).blocks if block.metric is catalog.SERVER_UP
    )
    assert block.lines == 1


async def test_a_silent_poll_never_serves_what_a_source_still_remembers() -> None:
    # A source may hand over the rows of its last good poll; nobody answered, so they are old.
    remembered = snapshot(NOW + 15, outcomes=REFUSED, complete=False)
    poller, _ = poller_of(snapshot(), remembered)
    await polled(poller, 2)
    assert "streamgauge_consumer_num_pending" not in served_names(poller, NOW + 46)


async def test_the_first_answer_after_a_silence_is_served_at_once() -> None:
    poller, _ = poller_of(snapshot(), silence(NOW + 60), snapshot(NOW + 75))
    await polled(poller, 3)
    assert "streamgauge_consumer_num_pending" in served_names(poller, NOW + 76)
    assert own(poller, NOW + 76)["up",] == 1


async def test_a_system_that_never_answered_has_no_age() -> None:
    poller, _ = poller_of(silence())
    await poller.poll_once()
    told = own(poller)
    assert told["up",] == 0
    assert ("snapshot_age_seconds",) not in told
    assert poller.is_stale(NOW)


# --- counting -------------------------------------------------------------------------------------


async def test_failed_questions_and_faults_are_counted_by_their_reason() -> None:
    faulty = snapshot(faults=(Fault("consumer_list", "threshold", 3, "worker: x"),))
    poller, _ = poller_of(silence(), silence(), faulty)
    await polled(poller, 3)
    told = own(poller)
    assert told["poll_errors_total", "stream_list", "connection"] == 2
    assert told["poll_errors_total", "consumer_list", "threshold"] == 3


async def test_a_question_keeps_how_it_went_while_others_are_asked() -> None:
    config = (*ANSWERED, Outcome("jsz_config", False, 0.5, "size", "too large"))
    poller, _ = poller_of(snapshot(outcomes=config, complete=False), snapshot())
    await polled(poller, 2)
    assert own(poller)["question_success", "jsz_config"] == 0


async def test_what_is_left_out_on_purpose_is_told_while_it_lasts() -> None:
    poller, _ = poller_of(snapshot(skipped=(Skipped("varz", "permission"),)), snapshot())
    await poller.poll_once()
    assert own(poller)["question_skipped", "varz", "permission"] == 1
    await poller.poll_once()
    assert ("question_skipped", "varz", "permission") not in own(poller)


async def test_series_beyond_the_cap_are_added_up_over_the_polls() -> None:
    crowd = tuple(
        Consumer("APP", "ORDERS", f"c{number}", True, "", "n1", None) for number in range(50)
    )
    poller, _ = poller_of(snapshot(consumers=crowd), limits=Limits(max_series=300))
    await polled(poller)
    first = poller.state.rendered.dropped
    await polled(poller)
    second = poller.state.rendered.dropped
    assert 0 < first < second  # the second look has verdicts too
    assert own(poller)["series_dropped_total",] == first + second


# --- mistakes of ours -----------------------------------------------------------------------------


async def test_an_exception_is_counted_told_and_survived(log: Callable[[], list[str]]) -> None:
    poller, _ = poller_of(KeyError("boom"), KeyError("boom"), snapshot())
    await polled(poller, 2)
    assert own(poller)["poll_errors_total", "poll", "internal"] == 2
    assert own(poller)["up",] == 0
    assert poller.state.polls == 2
    assert log() == ["ERROR poll failed error='boom'"]
    await poller.poll_once()
    assert own(poller)["up",] == 1
    assert "INFO polls succeed again" in log()


async def test_a_page_that_cannot_be_rendered_keeps_the_counts_of_its_questions() -> None:
    unwritable = Consumer("APP", "ORDERS", "x", True, "", "n1", None, num_pending="many")  # type: ignore[arg-type]
    poller, _ = poller_of(
        snapshot(), snapshot(consumers=(unwritable,), outcomes=(*ANSWERED, *REFUSED))
    )
    await polled(poller, 2)
    told = own(poller)
    assert told["poll_errors_total", "poll", "internal"] == 1
    assert told["poll_errors_total", "stream_list", "connection"] == 1
    assert "streamgauge_consumer_num_pending" in served_names(poller, NOW)


async def test_a_source_that_never_comes_back_is_given_up(log: Callable[[], list[str]]) -> None:
    poller, source = poller_of(snapshot(), timeout=0.01)
    poller.grace = 0.01

    async def hang() -> None:
        await asyncio.Event().wait()

    source.before_answer = hang
    await poller.poll_once()
    assert own(poller)["poll_errors_total", "poll", "internal"] == 1
    assert log() == ["ERROR poll failed error=no end 0.01 s after the deadline"]


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


async def test_polls_that_go_well_are_told_once(log: Callable[[], list[str]]) -> None:
    poller, _ = poller_of(snapshot())
    await polled(poller)
    series = poller.state.rendered.series
    await polled(poller, 4)
    assert log() == [
        "INFO server answers server=n1",
        f"INFO first answer streams=1 consumers=1 series={series}",
    ]


async def test_each_change_is_told_once_when_it_begins_and_once_when_it_ends(
    log: Callable[[], list[str]],
) -> None:
    poller, _ = poller_of(
        snapshot(), silence(), silence(), silence(), silence(), snapshot(NOW + 60)
    )
    await polled(poller)
    log()
    await polled(poller, 2, at=NOW + 30)
    assert log() == [
        "WARNING question failed question=stream_list reason=connection"
        " detail=nats://127.0.0.1:1: refused",
        "WARNING server is silent server=n1",
    ]
    await polled(poller, 2, at=NOW + 46)
    assert log() == ["ERROR no answer for three intervals: its series are dropped"]
    await polled(poller, 2, at=NOW + 60)
    assert log() == [
        "INFO question answered again question=stream_list",
        "INFO server answers server=n1",
        "INFO its series are served again",
    ]


async def test_another_reason_is_another_line(log: Callable[[], list[str]]) -> None:
    def failing(reason: str) -> Snapshot:
        outcome = Outcome("stream_list", False, 0.1, reason, "so it is")
        return snapshot(outcomes=(ANSWERED[1], outcome), complete=False)

    poller, _ = poller_of(failing("timeout"), failing("timeout"), failing("permission"))
    await polled(poller, 3)
    assert [line for line in log() if "question failed" in line] == [
        "WARNING question failed question=stream_list reason=timeout detail=so it is",
        "WARNING question failed question=stream_list reason=permission detail=so it is",
    ]


@pytest.mark.parametrize(
    ("first", "begun", "over"),
    [
        (
            {"faults": (Fault("consumer_list", "threshold", 2, "worker: x"),)},
            "WARNING part of an answer is left out question=consumer_list reason=threshold"
            " count=2 detail=worker: x",
            "INFO nothing of that kind is left out any more question=consumer_list"
            " reason=threshold",
        ),
        (
            {"servers": (Server("n1", "ID1", True), Server("n2", "ID2", True))},
            "INFO server answers server=n2",
            "INFO server is forgotten server=n2",
        ),
    ],
)
async def test_what_comes_and_goes_is_told_twice(
    log: Callable[[], list[str]], first: dict[str, Any], begun: str, over: str
) -> None:
    poller, _ = poller_of(snapshot(**first), snapshot(**first), snapshot())
    await polled(poller, 2)
    assert log().count(begun) == 1
    await polled(poller, 2)
    assert log() == [over]


async def test_a_count_that_wavers_is_no_news(log: Callable[[], list[str]]) -> None:
    answers = (
        snapshot(faults=(Fault("consumer_list", "threshold", count, "x"),)) for count in (2, 3, 2)
    )
    poller, _ = poller_of(*answers)
    await polled(poller, 3)
    assert sum("left out" in line for line in log()) == 1


async def test_the_cap_is_told_when_it_is_reached(log: Callable[[], list[str]]) -> None:
    crowd: Iterable[Consumer] = (
        Consumer("APP", "ORDERS", f"c{number}", True, "", "n1", None) for number in range(50)
    )
    poller, _ = poller_of(snapshot(consumers=tuple(crowd)), limits=Limits(max_series=300))
    await polled(poller)
    dropped = poller.state.rendered.dropped
    await polled(poller, 2)
    assert log().count(f"WARNING series beyond max_series are left out dropped={dropped}") == 1


async def test_a_pace_that_cannot_be_kept_is_told_once(log: Callable[[], list[str]]) -> None:
    poller, source = poller_of(snapshot(), interval=0.005)

    async def slow() -> None:
        await asyncio.sleep(0.01)

    source.before_answer = slow
    await polled(poller, 3)
    assert sum("a poll takes longer than the interval" in line for line in log()) == 1


class Listening:
    """A hearing that hears nothing and says how it stands."""

    link = None
    connected: float | None = 5.0

    def learn_names(self, snapshot: Snapshot) -> None: ...
    def keep_only(self, consumers: object, streams: object) -> None: ...
    def taken(self) -> EventCounts:
        return EventCounts()

    listening: frozenset[str] = frozenset()

    async def catch_up(self, deadline: float) -> None:
        if self.connected is None:
            await asyncio.Event().wait()  # a connection that hangs

    def standing(self) -> EventCounts:
        return EventCounts(connected_since=self.connected)

    def troubles(self) -> tuple[str, ...]:
        return () if self.connected else ("not connected",)


async def test_how_the_listening_stands_is_told_even_when_nobody_answers() -> None:
    hearing: Any = Listening()
    made, _ = poller_of(snapshot(), silence())
    made.hearing = hearing
    await made.poll_once()
    assert (made.state.events.connected_since, made.state.troubles) == (5.0, ())
    hearing.connected = None
    await made.poll_once()
    assert (made.state.events.connected_since, made.state.troubles) == (None, ("not connected",))


async def test_a_listener_that_hangs_does_not_hold_up_what_is_known() -> None:
    hearing: Any = Listening()
    hearing.connected = None
    made, _ = poller_of(snapshot(), timeout=0.2)
    made.hearing = hearing
    await made.poll_once()
    assert made.state.complete
    assert made.state.snapshot is not None
