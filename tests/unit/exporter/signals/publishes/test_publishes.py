"""Publishes received and not stored, from polls of subscriptions: nothing twice, nothing guessed."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import NOW, at, server, stream
from support.signals.publish_polls import (
    FIRST_LIFE,
    KEY,
    LONG_AGO,
    OTHER_NODE,
    SECOND_LIFE,
    PublishPolls,
    counts,
    snapshot,
)

from exporter.signals.publishes.engine import FORGET_AFTER_SECONDS, PublishState, StreamPublishes
from exporter.subscription_counts import StreamLook


def test_counting_starts_at_the_first_poll() -> None:
    followed = PublishPolls()
    assert followed.count(5_000, 4_000) == StreamPublishes(0, 0, 0, 0)
    assert followed.count(5_100, 4_040) == StreamPublishes(100, 60, 60, 0)
    assert followed.count(5_100, 4_040) == StreamPublishes(100, 60, 60, 0)


@pytest.mark.parametrize(
    ("polls", "in_queue", "unstored"),
    [
        pytest.param([(5, 20)], None, 0, id="too soon"),
        pytest.param([(15, 20)], None, 80, id="the stream is idle"),
        pytest.param([(15, 20)], True, 80, id="it is idle, whatever waited before"),
        pytest.param([(15, 97)], None, 0, id="the queue was emptied: not all of it is settled"),
        pytest.param([(15, 97), (30, 97)], None, 3, id="and then the stream is idle"),
        pytest.param([(15, 60), (30, 80), (46, 90)], None, 10, id="it moved for a minute"),
        pytest.param([(15, 60), (30, 80), (46, 90)], True, 0, id="too much waited for that"),
    ],
)
def test_what_is_not_stored_is_reported_only_when_it_is_settled(
    polls: list[tuple[float, int]], in_queue: bool | None, unstored: int
) -> None:
    followed = PublishPolls()
    followed.count(0, 0)
    row = stream(last_seq=20, created=LONG_AGO)
    seen = StreamLook("n1", LONG_AGO, 20, in_queue, ((FIRST_LIFE, 100),))
    first = followed.state.update(counts({KEY: seen}), snapshot(row, followed.server, after=100))
    assert first.streams[KEY] == StreamPublishes(100, 0, 0, 0)
    for seconds, last_seq in polls:
        row = stream(last_seq=last_seq, created=LONG_AGO)
        result = followed.state.update(None, snapshot(row, followed.server, after=100 + seconds))
    assert result.streams[KEY].unstored == unstored


@pytest.mark.parametrize(
    ("in_queue", "config", "unstored"),
    [
        pytest.param((False, False), {}, 5, id="nothing waited: the smaller of both is true"),
        pytest.param((False, True), {}, 0, id="the second is not sure"),
        pytest.param((True, False), {}, 0, id="the first is not sure"),
        pytest.param((None, None), {}, 0, id="the server does not say"),
        pytest.param((False, False), {"atomic": True}, 0, id="batches wait elsewhere"),
    ],
)
def test_two_polls_without_a_queue_are_enough_for_a_stream_that_is_never_idle(
    in_queue: tuple[bool | None, ...], config: dict[str, Any], unstored: int
) -> None:
    followed = PublishPolls(**config)
    followed.count(0, 0)
    for place, (waits, received, last_seq) in enumerate(
        zip(in_queue, (100, 200), (95, 130), strict=True)
    ):
        row = stream(last_seq=last_seq, created=LONG_AGO, config=followed.config)
        seen = StreamLook("n1", LONG_AGO, last_seq - 9, waits, ((FIRST_LIFE, received),))
        after = followed.seconds + 30 * (place + 1)
        result = followed.state.update(
            counts({KEY: seen}), snapshot(row, followed.server, after=after)
        )
    assert result.streams[KEY].unstored == unstored


def test_a_new_leader_counts_from_zero_and_nothing_twice() -> None:
    followed = PublishPolls()
    followed.count(100, 40)
    followed.count(200, 80)
    followed.server = server("n2", id="N2")
    assert followed.count(50, 130, OTHER_NODE) == StreamPublishes(150, 60, 60, 0)
    followed.server = server("n1", id="N1")
    # The same connection as before, but a new subscription.
    assert followed.count(7, 137, ("N1", 12, "4", "")) == StreamPublishes(157, 60, 60, 0)


def test_what_the_old_leader_got_after_the_last_poll_never_counts_against_the_new_one() -> None:
    followed = PublishPolls()
    followed.count(0, 0)
    followed.server = server("n2", id="N2")
    # 30 were stored by the old one unseen; of the new one's 50, 10 were not stored.
    assert followed.count(50, 70, OTHER_NODE) == StreamPublishes(50, 0, 0, 0)
    assert followed.count(60, 70, OTHER_NODE) == StreamPublishes(60, 10, 10, 0)


def test_a_restarted_server_may_have_lost_messages_and_that_is_no_refusal() -> None:
    followed = PublishPolls()
    followed.count(300, 300)
    followed.server = server("n1", id="N1B")
    assert followed.count(400, 400, SECOND_LIFE) == StreamPublishes(400, 0, 0, 0)
    assert followed.count(410, 404, SECOND_LIFE) == StreamPublishes(410, 6, 6, 0)


def test_a_sequence_that_went_back_is_no_refusal() -> None:
    followed = PublishPolls()
    followed.count(300, 300)
    followed.poll(250)
    assert followed.count(310, 255) == StreamPublishes(10, 0, 0, 0)
    assert followed.count(311, 255) == StreamPublishes(11, 1, 1, 0)


def test_a_recreated_stream_goes_on_counting() -> None:
    followed = PublishPolls()
    followed.count(300, 300)
    followed.count(310, 304)
    followed.created = at(NOW - 10)
    assert followed.count(20, 15, ("N1", 99, "1", "")) == StreamPublishes(30, 11, 11, 0)


def test_a_poll_from_before_a_move_or_a_recreation_is_not_used() -> None:
    followed = PublishPolls()
    followed.count(100, 100)
    row = stream(last_seq=150, created=LONG_AGO)
    moved = StreamLook("n2", LONG_AGO, 120, None, ((OTHER_NODE, 900),))
    other = StreamLook("n1", at(NOW - 9), 120, None, ((("N1", 88, "1", ""), 900),))
    for count in (moved, other):
        followed.seconds += 60
        signals = followed.state.update(
            counts({KEY: count}), snapshot(row, followed.server, after=followed.seconds)
        )
        assert signals.streams[KEY] == StreamPublishes(0, 0, 0, 0)


def test_several_subjects_are_one_number_and_one_may_go() -> None:
    followed = PublishPolls()
    row = stream(last_seq=0, created=LONG_AGO)
    more, less = ("N1", 12, "2", ""), FIRST_LIFE
    for received in (((less, 0), (more, 0)), ((less, 5), (more, 4)), ((less, 7),)):
        followed.seconds += 60
        seen = StreamLook("n1", LONG_AGO, 0, None, received)
        signals = followed.state.update(
            counts({KEY: seen}), snapshot(row, followed.server, after=followed.seconds)
        )
    assert signals.streams[KEY].received == 11


def test_copies_of_a_subscription_are_read_only_now_and_then_and_counted_once() -> None:
    followed = PublishPolls()
    row = stream(last_seq=0, created=LONG_AGO)
    copy, together = (*FIRST_LIFE[:3], "exported.>"), (*FIRST_LIFE[:3], "*")
    received = []
    for counters in (
        ((FIRST_LIFE, 3),),
        ((FIRST_LIFE, 4), (copy, 70)),  # first read: its start is unknown
        ((FIRST_LIFE, 5), (copy, 72)),
        ((FIRST_LIFE, 6),),
        ((FIRST_LIFE, 6), (copy, 75)),
        ((together, 90),),
        ((together, 91),),
        ((OTHER_NODE, 2), ((*OTHER_NODE[:3], "exported.>"), 7)),
    ):
        followed.seconds += 60
        seen = StreamLook("n1", LONG_AGO, 0, None, counters)
        signals = followed.state.update(
            counts({KEY: seen}), snapshot(row, followed.server, after=followed.seconds)
        )
        received.append(signals.streams[KEY].received)
    assert received == [0, 1, 4, 5, 8, 8, 9, 18]


def test_a_stream_younger_than_the_exporter_counts_from_its_beginning() -> None:
    followed = PublishPolls()
    followed.poll(0)
    followed.state = PublishState()
    followed.state.update(None, snapshot(followed.server))
    followed.created = at(NOW + 20)
    assert followed.count(100, 40) == StreamPublishes(100, 60, 60, 0)


def test_whose_age_is_unknown_counts_from_the_first_poll() -> None:
    followed = PublishPolls()
    followed.state.update(None, snapshot(followed.server))
    followed.created = at(NOW + 20)
    followed.server = server("n1", offset=None)
    assert followed.count(100, 40) == StreamPublishes(0, 0, 0, 0)


def test_the_servers_own_clock_shows_what_is_younger() -> None:
    followed = PublishPolls()
    followed.state.update(None, snapshot(followed.server))
    followed.server = server("n1", offset=3600.0)
    followed.created = at(NOW + 3500)  # an hour ahead: in truth before us
    assert followed.count(100, 40) == StreamPublishes(0, 0, 0, 0)


@pytest.mark.parametrize(
    "config",
    [
        {"mirror": "UP"},
        {"sourced": True},
        {"delete_markers": True},
        {"schedules": True},
    ],
    ids=lambda config: next(iter(config)),
)
def test_sequences_that_grow_on_their_own_show_nothing(config: dict[str, Any]) -> None:
    followed = PublishPolls(**config)
    followed.count(10, 10)
    assert followed.count(20, 12) == StreamPublishes(10)


def test_an_unknown_configuration_shows_nothing_of_what_was_not_stored() -> None:
    followed = PublishPolls()
    row = stream(last_seq=0, created=LONG_AGO, config=None)
    for received in (0, 9):
        seen = StreamLook("n1", LONG_AGO, 0, None, ((FIRST_LIFE, received),))
        signals = followed.state.update(counts({KEY: seen}), snapshot(row, followed.server))
    assert signals.streams[KEY] == StreamPublishes(9)


def test_a_configuration_that_comes_later_costs_a_new_stream_nothing() -> None:
    followed = PublishPolls()
    followed.state.update(None, snapshot(followed.server))
    followed.created, known = at(NOW + 20), followed.config
    followed.config = None  # type: ignore[assignment]
    assert followed.count(100, 40) == StreamPublishes(100)
    followed.config = known
    assert followed.count(110, 45) == StreamPublishes(110, 65, 65, 0)


def test_without_polls_nothing_is_known() -> None:
    followed = PublishPolls()
    assert followed.poll(5).streams[KEY] == StreamPublishes()


def test_old_numbers_are_dropped_and_go_on_when_polls_come_back() -> None:
    followed = PublishPolls()
    followed.count(0, 0)
    followed.count(10, 4)
    assert followed.poll(4, 150).streams[KEY].received == 10
    assert followed.poll(4, 60).streams[KEY] == StreamPublishes()
    assert followed.count(15, 6) == StreamPublishes(15, 9, 9, 0)


def test_what_a_complete_response_no_longer_names_is_forgotten() -> None:
    followed = PublishPolls()
    followed.count(0, 0)
    followed.count(9, 9)
    followed.state.update(None, snapshot(followed.server, complete=False))
    assert followed.count(10, 10).received == 10
    followed.state.update(None, snapshot(followed.server))
    assert followed.count(12, 12).received == 0


def test_what_incomplete_responses_never_name_is_forgotten_in_the_end() -> None:
    followed = PublishPolls()
    followed.count(0, 0)
    assert followed.count(5, 5).received == 5
    start = followed.seconds
    for seconds in (FORGET_AFTER_SECONDS, FORGET_AFTER_SECONDS + 1):
        followed.state.update(
            None, snapshot(followed.server, after=start + seconds, complete=False)
        )
        assert (KEY in followed.state._streams) is (seconds <= FORGET_AFTER_SECONDS)


def test_a_stream_without_a_leader_keeps_its_numbers_for_a_while() -> None:
    followed = PublishPolls()
    followed.count(0, 0)
    followed.count(9, 4)
    away = stream(up=False, leader="", created=None, config=followed.config)
    signals = followed.state.update(
        None, snapshot(away, followed.server, after=followed.seconds + 15)
    )
    assert signals.streams[KEY] == StreamPublishes(9, 5, 5, 0)
