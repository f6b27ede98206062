"""What a poller serves: responses with their age, outages, requests, event connections."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
import pytest
from support.exporter.models import at
from support.exporter.scripted_poller import (
    INTERVAL,
    NOW,
    REFUSED,
    RESPONDED,
    WORKER,
    outage,
    own,
    polled,
    poller_of,
    served_lines,
    served_names,
    snapshot,
)

from exporter import catalog
from exporter.events.counts import EventCounts
from exporter.model import Consumer, Fault, Outcome, Skipped, Snapshot
from exporter.samples.render import Limits

# --- what is served -------------------------------------------------------------------------------


async def test_before_the_first_poll_nothing_is_claimed() -> None:
    poller, _ = poller_of(snapshot())
    assert own(poller) == {}
    assert served_names(poller, NOW) == set()


async def test_a_response_is_served_with_its_age() -> None:
    poller, _ = poller_of(snapshot())
    await poller.poll_once()
    counts = own(poller, NOW + 4)
    assert counts["up",] == 1
    assert counts["snapshot_age_seconds",] == 4
    assert counts["servers_expected",] == counts["servers_responding",] == 1
    assert counts["request_success", "consumer_list"] == 1
    assert counts["request_duration_seconds", "consumer_list"] == 0.02
    assert counts["series",] == poller.served(NOW).series > 0
    assert "streamgauge_consumer_num_pending" in served_names(poller, NOW)


async def test_series_are_dropped_after_three_intervals_and_not_before() -> None:
    poller, _ = poller_of(snapshot())
    await poller.poll_once()
    limit = NOW + 3 * INTERVAL
    assert "streamgauge_consumer_num_pending" in served_names(poller, limit)
    assert served_names(poller, limit + 0.001) == set()
    assert own(poller, limit + 0.001)["series",] == 0


async def test_a_clock_that_is_set_back_does_not_keep_old_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    poller, _ = poller_of(snapshot(), outage())
    await polled(poller, 2)
    ticks = time.monotonic()
    hour_ago = NOW - 3600
    assert not poller.is_stale(hour_ago)
    monkeypatch.setattr("exporter.polling.state.time.monotonic", lambda: ticks + 46)
    assert poller.is_stale(hour_ago)
    assert own(poller, hour_ago)["snapshot_age_seconds",] >= 46


@pytest.mark.parametrize("jump", [3600.0, -3600.0, 40 * 365 * 86_400.0])
async def test_after_a_jump_of_the_clock_the_next_response_is_served(jump: float) -> None:
    after = NOW + jump
    poller, _ = poller_of(snapshot(), snapshot(after), snapshot(after + INTERVAL))
    await poller.poll_once()
    for later in (after, after + INTERVAL):
        await poller.poll_once()
        counts = own(poller, later + 1)
        assert counts["up",] == 1
        assert 1 <= counts["snapshot_age_seconds",] < INTERVAL
        assert "streamgauge_consumer_num_pending" in served_names(poller, later + 1)


async def test_without_responses_the_last_one_stays_until_it_is_stale() -> None:
    poller, _ = poller_of(snapshot(), outage(NOW + 15))
    await polled(poller, 2)
    assert "streamgauge_consumer_num_pending" in served_names(poller, NOW + 16)
    counts = own(poller, NOW + 16)
    assert counts["up",] == 0
    assert counts["snapshot_age_seconds",] == 16
    assert counts["servers_responding",] == 0


async def test_in_an_outage_only_the_servers_are_left_and_they_are_down() -> None:
    poller, _ = poller_of(snapshot(), outage(NOW + 15))
    await polled(poller, 2)
    assert served_names(poller, NOW + 46) == {
        "streamgauge_server_up",
        "streamgauge_server_info",
        "streamgauge_server_condition_start_timestamp_seconds",
    }
    block = next(
        block for block in poller.served(NOW + 46).blocks if block.metric is catalog.SERVER_UP
    )
    assert block.lines == 1


async def test_past_events_stay_in_an_outage_with_their_time() -> None:
    first, then = (msgspec.structs.replace(WORKER, created=at(when)) for when in (NOW - 9, NOW))
    poller, _ = poller_of(
        snapshot(consumers=(first,)), snapshot(NOW + 15, consumers=(then,)), outage(NOW + 30)
    )
    await polled(poller, 2)
    labels = '{system="test",account="APP",stream="ORDERS",consumer="worker"}'
    events = {
        f"streamgauge_consumer_recreated_total{labels} 1",
        f"streamgauge_consumer_recreated_last_event_timestamp_seconds{labels} {NOW + 15}",
    }
    # While polls hang, nothing says that the system does not respond.
    assert set(served_lines(poller, NOW + 15 + 46)) == events
    await polled(poller)
    assert events < set(served_lines(poller, NOW + 100))
    assert served_names(poller, NOW + 100) & {catalog.CONSUMER_NUM_PENDING.name} == set()


async def test_servers_are_down_since_the_first_poll_without_response() -> None:
    poller, _ = poller_of(snapshot(), outage(NOW + 15), outage(NOW + 30), snapshot(NOW + 45))
    await polled(poller, 3)
    down = 'streamgauge_server_condition_start_timestamp_seconds{system="test",server="n1",condition="down"}'
    assert f"{down} {NOW + 15}" in served_lines(poller, NOW + 60)
    await polled(poller)
    assert not any(down in line for line in served_lines(poller, NOW + 46))


async def test_a_poll_without_responses_never_serves_remembered_rows() -> None:
    # A source may return the rows of its last successful poll; without a response they are old.
    remembered = snapshot(NOW + 15, outcomes=REFUSED, complete=False)
    poller, _ = poller_of(snapshot(), remembered)
    await polled(poller, 2)
    assert "streamgauge_consumer_num_pending" not in served_names(poller, NOW + 46)


async def test_the_first_response_after_an_outage_is_served_at_once() -> None:
    poller, _ = poller_of(snapshot(), outage(NOW + 60), snapshot(NOW + 75))
    await polled(poller, 3)
    assert "streamgauge_consumer_num_pending" in served_names(poller, NOW + 76)
    assert own(poller, NOW + 76)["up",] == 1


async def test_a_system_that_never_responded_has_no_age() -> None:
    poller, _ = poller_of(outage())
    await poller.poll_once()
    counts = own(poller)
    assert counts["up",] == 0
    assert ("snapshot_age_seconds",) not in counts
    assert poller.is_stale(NOW)


# --- counting -------------------------------------------------------------------------------------


async def test_failed_requests_and_faults_are_counted_by_their_reason() -> None:
    faulty = snapshot(faults=(Fault("consumer_list", "threshold", 3, "worker: x"),))
    poller, _ = poller_of(outage(), outage(), faulty)
    await polled(poller, 3)
    counts = own(poller)
    assert counts["poll_errors_total", "stream_list", "connection"] == 2
    assert counts["poll_errors_total", "consumer_list", "threshold"] == 3


async def test_a_request_keeps_its_outcome_while_others_are_sent() -> None:
    config = (*RESPONDED, Outcome("jsz_config", False, 0.5, "size", "too large"))
    poller, _ = poller_of(snapshot(outcomes=config, complete=False), snapshot())
    await polled(poller, 2)
    assert own(poller)["request_success", "jsz_config"] == 0


async def test_skipped_requests_are_reported_while_they_are_skipped() -> None:
    poller, _ = poller_of(snapshot(skipped=(Skipped("varz", "permission"),)), snapshot())
    await poller.poll_once()
    assert own(poller)["request_skipped", "varz", "permission"] == 1
    await poller.poll_once()
    assert ("request_skipped", "varz", "permission") not in own(poller)


async def test_series_beyond_the_cap_are_added_up_over_the_polls() -> None:
    group = tuple(
        Consumer("APP", "ORDERS", f"c{number}", True, "", "n1", None) for number in range(50)
    )
    poller, _ = poller_of(snapshot(consumers=group), limits=Limits(max_series=300))
    await polled(poller)
    first = poller.state.rendered.dropped
    await polled(poller)
    second = poller.state.rendered.dropped
    assert 0 < first < second  # the second poll has verdicts too
    assert own(poller)["series_dropped_total",] == first + second


# --- listening ------------------------------------------------------------------------------------


class FakeEventSession:
    """An event session without events."""

    connection = None
    connected: float | None = 5.0

    def update_account_names(self, snapshot: Snapshot) -> None: ...
    async def forget_absent(
        self, consumers: object, streams: object, *, complete: bool
    ) -> None: ...
    async def counts(self) -> EventCounts:
        return EventCounts()

    listening: frozenset[str] = frozenset()

    async def catch_up(self, deadline: float) -> None:
        if self.connected is None:
            await asyncio.Event().wait()  # a connection that hangs

    def connection_state(self) -> EventCounts:
        return EventCounts(connected_since=self.connected)

    def problems(self) -> tuple[str, ...]:
        return () if self.connected else ("not connected",)


async def test_the_state_of_event_connections_is_reported_in_an_outage_too() -> None:
    event_session: Any = FakeEventSession()
    made, _ = poller_of(snapshot(), outage())
    made.event_session = event_session
    await made.poll_once()
    assert (made.state.events.connected_since, made.state.problems) == (5.0, ())
    event_session.connected = None
    await made.poll_once()
    assert (made.state.events.connected_since, made.state.problems) == (None, ("not connected",))


async def test_a_listener_that_hangs_does_not_hold_up_what_is_known() -> None:
    event_session: Any = FakeEventSession()
    event_session.connected = None
    made, _ = poller_of(snapshot(), timeout=0.2)
    made.event_session = event_session
    await made.poll_once()
    assert made.state.complete
    assert made.state.snapshot is not None
