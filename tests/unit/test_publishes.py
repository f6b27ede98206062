"""Publishes, acks and pulls across resets, leader moves and gaps between looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.models import NOW, at, consumer, consumer_config, server, stream, stream_config
from support.models import snapshot as taken_now

from exporter.model import Snapshot, StreamConfig
from exporter.signals.dedupe import DedupeHits
from exporter.signals.publishes import (
    FORGET_AFTER_SECONDS,
    ConsumerReplies,
    PublishBook,
    PublishSignals,
    StreamPublishes,
    TapCounts,
)
from exporter.subscriptions import CounterId, Counters, StreamLook, SubscriptionCounts

KEY, WORKER = ("APP", "ORDERS"), ("APP", "ORDERS", "worker")
LONG_AGO = at(NOW - 86_400)
FIRST_LIFE, SECOND_LIFE = ("N1", 12, "1", ""), ("N1B", 7, "1", "")
OTHER_NODE = ("N2", 30, "1", "")


def snapshot(*rows: Any, after: float = 0.0, **changes: Any) -> Snapshot:
    found = taken_now(*rows, **changes)
    return Snapshot(**{**{f: getattr(found, f) for f in found.__struct_fields__},
                       "taken": NOW + after})  # fmt: skip


def counts(
    streams: Mapping[tuple[str, str], StreamLook] | None = None,
    acks: Counters | None = None,
    pulls: Counters | None = None,
    **changes: Any,
) -> SubscriptionCounts:
    plain: dict[str, Any] = {
        "streams": streams or {},
        "acks": {WORKER: acks} if acks is not None else {},
        "pulls": {WORKER: pulls} if pulls is not None else {},
        "advisory_listeners": {},
        "whole_accounts": frozenset({"APP"}),
    }
    return SubscriptionCounts(**{**plain, **changes})


class Town:
    """One stream that is looked at again and again, a minute apart, and polled in between."""

    def __init__(self, **config: Any) -> None:
        self.book = PublishBook()
        self.seconds = 0.0
        self.config: StreamConfig = stream_config(**config)
        self.created = LONG_AGO
        self.server = server("n1")
        self.tap: TapCounts | None = None

    def look(self, received: int, last_seq: int, who: CounterId = FIRST_LIFE) -> StreamPublishes:
        """A look, and the poll after it."""
        row = stream(
            last_seq=last_seq, created=self.created, config=self.config, leader=self.server.name
        )
        seen = StreamLook(self.server.name, self.created, last_seq, None, ((who, received),))
        self._update(counts({KEY: seen}), row, 45.0)
        return self._update(None, row, 15.0).streams[KEY]

    def poll(self, last_seq: int, seconds: float = 15.0, **row: Any) -> PublishSignals:
        found = stream(
            last_seq=last_seq, created=self.created, config=self.config,
            leader=self.server.name, **row,
        )  # fmt: skip
        return self._update(None, found, seconds)

    def _update(self, found: SubscriptionCounts | None, row: Any, seconds: float) -> PublishSignals:
        self.seconds += seconds
        return self.book.update(found, snapshot(row, self.server, after=self.seconds), self.tap)


def test_counting_starts_at_the_first_look() -> None:
    town = Town()
    assert town.look(5_000, 4_000) == StreamPublishes(0, 0, 0, 0)
    assert town.look(5_100, 4_040) == StreamPublishes(100, 60, 60, 0)
    assert town.look(5_100, 4_040) == StreamPublishes(100, 60, 60, 0)


@pytest.mark.parametrize(
    ("polls", "in_queue", "unstored"),
    [
        pytest.param([(5, 20)], None, 0, id="too soon"),
        pytest.param([(15, 20)], None, 80, id="the stream rests"),
        pytest.param([(15, 20)], True, 80, id="it rests, whatever waited before"),
        pytest.param([(15, 97)], None, 0, id="the queue was emptied: not all of it is settled"),
        pytest.param([(15, 97), (30, 97)], None, 3, id="and then the stream rests"),
        pytest.param([(15, 60), (30, 80), (46, 90)], None, 10, id="it moved for a minute"),
        pytest.param([(15, 60), (30, 80), (46, 90)], True, 0, id="too much waited for that"),
    ],
)
def test_what_is_not_stored_is_told_only_when_it_is_settled(
    polls: list[tuple[float, int]], in_queue: bool | None, unstored: int
) -> None:
    town = Town()
    town.look(0, 0)
    row = stream(last_seq=20, created=LONG_AGO)
    seen = StreamLook("n1", LONG_AGO, 20, in_queue, ((FIRST_LIFE, 100),))
    first = town.book.update(counts({KEY: seen}), snapshot(row, town.server, after=100))
    assert first.streams[KEY] == StreamPublishes(100, 0, 0, 0)
    for seconds, last_seq in polls:
        row = stream(last_seq=last_seq, created=LONG_AGO)
        told = town.book.update(None, snapshot(row, town.server, after=100 + seconds))
    assert told.streams[KEY].unstored == unstored


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
def test_two_looks_without_a_queue_are_enough_for_a_stream_that_never_rests(
    in_queue: tuple[bool | None, ...], config: dict[str, Any], unstored: int
) -> None:
    town = Town(**config)
    town.look(0, 0)
    for place, (waits, received, last_seq) in enumerate(
        zip(in_queue, (100, 200), (95, 130), strict=True)
    ):
        row = stream(last_seq=last_seq, created=LONG_AGO, config=town.config)
        seen = StreamLook("n1", LONG_AGO, last_seq - 9, waits, ((FIRST_LIFE, received),))
        after = town.seconds + 30 * (place + 1)
        told = town.book.update(counts({KEY: seen}), snapshot(row, town.server, after=after))
    assert told.streams[KEY].unstored == unstored


def test_a_new_leader_counts_from_zero_and_nothing_twice() -> None:
    town = Town()
    town.look(100, 40)
    town.look(200, 80)
    town.server = server("n2", id="N2")
    assert town.look(50, 130, OTHER_NODE) == StreamPublishes(150, 60, 60, 0)
    town.server = server("n1", id="N1")
    # The same connection as before, but a new subscription.
    assert town.look(7, 137, ("N1", 12, "4", "")) == StreamPublishes(157, 60, 60, 0)


def test_what_the_old_leader_got_after_the_last_look_never_counts_against_the_new_one() -> None:
    town = Town()
    town.look(0, 0)
    town.server = server("n2", id="N2")
    # 30 were stored by the old one unseen; of the new one's 50, 10 were not stored.
    assert town.look(50, 70, OTHER_NODE) == StreamPublishes(50, 0, 0, 0)
    assert town.look(60, 70, OTHER_NODE) == StreamPublishes(60, 10, 10, 0)


def test_a_restarted_server_may_have_lost_messages_and_that_is_no_refusal() -> None:
    town = Town()
    town.look(300, 300)
    town.server = server("n1", id="N1B")
    assert town.look(400, 400, SECOND_LIFE) == StreamPublishes(400, 0, 0, 0)
    assert town.look(410, 404, SECOND_LIFE) == StreamPublishes(410, 6, 6, 0)


def test_a_sequence_that_went_back_is_no_refusal() -> None:
    town = Town()
    town.look(300, 300)
    town.poll(250)
    assert town.look(310, 255) == StreamPublishes(10, 0, 0, 0)
    assert town.look(311, 255) == StreamPublishes(11, 1, 1, 0)


def test_a_recreated_stream_goes_on_counting() -> None:
    town = Town()
    town.look(300, 300)
    town.look(310, 304)
    town.created = at(NOW - 10)
    assert town.look(20, 15, ("N1", 99, "1", "")) == StreamPublishes(30, 11, 11, 0)


def test_a_look_from_before_a_move_or_a_recreation_is_not_used() -> None:
    town = Town()
    town.look(100, 100)
    row = stream(last_seq=150, created=LONG_AGO)
    moved = StreamLook("n2", LONG_AGO, 120, None, ((OTHER_NODE, 900),))
    other = StreamLook("n1", at(NOW - 9), 120, None, ((("N1", 88, "1", ""), 900),))
    for look in (moved, other):
        town.seconds += 60
        signals = town.book.update(
            counts({KEY: look}), snapshot(row, town.server, after=town.seconds)
        )
        assert signals.streams[KEY] == StreamPublishes(0, 0, 0, 0)


def test_several_subjects_are_one_number_and_one_may_go() -> None:
    town = Town()
    row = stream(last_seq=0, created=LONG_AGO)
    more, less = ("N1", 12, "2", ""), FIRST_LIFE
    for received in (((less, 0), (more, 0)), ((less, 5), (more, 4)), ((less, 7),)):
        town.seconds += 60
        seen = StreamLook("n1", LONG_AGO, 0, None, received)
        signals = town.book.update(
            counts({KEY: seen}), snapshot(row, town.server, after=town.seconds)
        )
    assert signals.streams[KEY].received == 11


def test_copies_of_a_subscription_are_read_only_now_and_then_and_counted_once() -> None:
    town = Town()
    row = stream(last_seq=0, created=LONG_AGO)
    copy, together = (*FIRST_LIFE[:3], "exported.>"), (*FIRST_LIFE[:3], "*")
    received = []
    for counters in (
        ((FIRST_LIFE, 3),),
        ((FIRST_LIFE, 4), (copy, 70)),  # first read: nobody knows since when
        ((FIRST_LIFE, 5), (copy, 72)),
        ((FIRST_LIFE, 6),),
        ((FIRST_LIFE, 6), (copy, 75)),
        ((together, 90),),
        ((together, 91),),
        ((OTHER_NODE, 2), ((*OTHER_NODE[:3], "exported.>"), 7)),
    ):
        town.seconds += 60
        seen = StreamLook("n1", LONG_AGO, 0, None, counters)
        signals = town.book.update(
            counts({KEY: seen}), snapshot(row, town.server, after=town.seconds)
        )
        received.append(signals.streams[KEY].received)
    assert received == [0, 1, 4, 5, 8, 8, 9, 18]


def test_a_stream_younger_than_the_exporter_counts_from_its_beginning() -> None:
    town = Town()
    town.poll(0)
    town.book = PublishBook()
    town.book.update(None, snapshot(town.server))
    town.created = at(NOW + 20)
    assert town.look(100, 40) == StreamPublishes(100, 60, 60, 0)


def test_whose_age_is_unknown_counts_from_the_first_look() -> None:
    town = Town()
    town.book.update(None, snapshot(town.server))
    town.created = at(NOW + 20)
    town.server = server("n1", offset=None)
    assert town.look(100, 40) == StreamPublishes(0, 0, 0, 0)


def test_the_servers_own_clock_tells_what_is_younger() -> None:
    town = Town()
    town.book.update(None, snapshot(town.server))
    town.server = server("n1", offset=3600.0)
    town.created = at(NOW + 3500)  # an hour ahead: in truth before us
    assert town.look(100, 40) == StreamPublishes(0, 0, 0, 0)


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
def test_sequences_that_grow_by_themselves_tell_nothing(config: dict[str, Any]) -> None:
    town = Town(**config)
    town.look(10, 10)
    assert town.look(20, 12) == StreamPublishes(10)


def test_an_unknown_configuration_tells_nothing_of_what_was_not_stored() -> None:
    town = Town()
    row = stream(last_seq=0, created=LONG_AGO, config=None)
    for received in (0, 9):
        seen = StreamLook("n1", LONG_AGO, 0, None, ((FIRST_LIFE, received),))
        signals = town.book.update(counts({KEY: seen}), snapshot(row, town.server))
    assert signals.streams[KEY] == StreamPublishes(9)


def test_a_configuration_that_comes_later_costs_a_new_stream_nothing() -> None:
    town = Town()
    town.book.update(None, snapshot(town.server))
    town.created, known = at(NOW + 20), town.config
    town.config = None  # type: ignore[assignment]
    assert town.look(100, 40) == StreamPublishes(100)
    town.config = known
    assert town.look(110, 45) == StreamPublishes(110, 65, 65, 0)


def test_without_looks_nothing_is_known() -> None:
    town = Town()
    assert town.poll(5).streams[KEY] == StreamPublishes()


def test_old_numbers_are_dropped_and_go_on_when_looks_come_back() -> None:
    town = Town()
    town.look(0, 0)
    town.look(10, 4)
    assert town.poll(4, 150).streams[KEY].received == 10
    assert town.poll(4, 60).streams[KEY] == StreamPublishes()
    assert town.look(15, 6) == StreamPublishes(15, 9, 9, 0)


def test_what_a_complete_answer_no_longer_names_is_forgotten() -> None:
    town = Town()
    town.look(0, 0)
    town.look(9, 9)
    town.book.update(None, snapshot(town.server, complete=False))
    assert town.look(10, 10).received == 10
    town.book.update(None, snapshot(town.server))
    assert town.look(12, 12).received == 0


def test_what_incomplete_answers_never_name_is_forgotten_in_the_end() -> None:
    town = Town()
    town.look(0, 0)
    assert town.look(5, 5).received == 5
    start = town.seconds
    for seconds in (FORGET_AFTER_SECONDS, FORGET_AFTER_SECONDS + 1):
        town.book.update(None, snapshot(town.server, after=start + seconds, complete=False))
        assert (KEY in town.book._streams) is (seconds <= FORGET_AFTER_SECONDS)


def test_a_stream_without_a_leader_keeps_its_numbers_for_a_while() -> None:
    town = Town()
    town.look(0, 0)
    town.look(9, 4)
    away = stream(up=False, leader="", created=None, config=town.config)
    signals = town.book.update(None, snapshot(away, town.server, after=town.seconds + 15))
    assert signals.streams[KEY] == StreamPublishes(9, 5, 5, 0)


def test_one_dedupe_counter_for_tap_and_bound() -> None:
    town = Town()
    town.look(0, 0)
    assert town.look(10, 8) == StreamPublishes(10, 2, 2, 0)
    town.tap = TapCounts(frozenset({"APP"}), {KEY: 1})
    assert town.look(20, 15) == StreamPublishes(20, 5, 3, 1)
    town.tap = TapCounts(frozenset({"APP"}), {KEY: 4})
    assert town.look(30, 20) == StreamPublishes(30, 10, 6, 1)
    town.tap = None
    assert town.look(40, 29) == StreamPublishes(40, 11, 7, 0)
    town.tap = TapCounts(frozenset({"APP"}), {KEY: 5})
    assert town.look(50, 29) == StreamPublishes(50, 21, 8, 1)
    town.tap = TapCounts(frozenset({"APP"}), {})  # it began anew
    assert town.look(50, 29).dedupe_hits == 8


@pytest.mark.parametrize(
    ("heard", "breaks", "unstored", "expected"),
    [
        pytest.param(7, 0, 9, (7, 1), id="heard all"),
        pytest.param(7, 1, 9, (9, 0), id="missed some: the bound knows better"),
        pytest.param(7, 1, 3, (7, 0), id="missed some: the bound is late"),
        pytest.param(7, 1, None, (7, 0), id="missed some: there is no bound"),
    ],
)
def test_a_tap_that_missed_something_is_not_exact(
    heard: int, breaks: int, unstored: int | None, expected: tuple[int, int]
) -> None:
    assert DedupeHits().with_tap(heard, breaks, unstored) == expected


def test_a_tap_is_exact_again_after_one_poll() -> None:
    hits = DedupeHits()
    assert hits.without_tap(5) == (5, 0)
    assert hits.with_tap(0, 0, 6) == (6, 0)
    assert hits.with_tap(2, 0, 60) == (8, 1)
    assert hits.with_tap(2, 1, 60) == (8, 0)
    assert hits.with_tap(3, 1, 60) == (9, 1)
    assert hits.without_tap(61) == (10, 0)


def test_the_tap_needs_no_looks() -> None:
    town = Town(sourced=True)
    town.tap = TapCounts(frozenset({"APP"}), {})
    assert town.poll(5).streams[KEY] == StreamPublishes(None, None, 0, 1)
    town.tap = TapCounts(frozenset({"APP"}), {KEY: 2})
    assert town.poll(5).streams[KEY] == StreamPublishes(None, None, 2, 1)


@pytest.mark.parametrize("config", [{"mirror": "UP"}, {"no_ack": True}], ids=["mirror", "no_ack"])
def test_the_tap_cannot_hear_some_streams(config: dict[str, Any]) -> None:
    town = Town(**config)
    town.tap = TapCounts(frozenset({"APP"}), {})
    assert town.poll(5).streams[KEY] == StreamPublishes()


def test_a_tap_in_another_account_says_nothing() -> None:
    town = Town()
    town.tap = TapCounts(frozenset({"OTHER"}), {})
    assert town.look(0, 0) == StreamPublishes(0, 0, 0, 0)


def test_acks_and_pulls_follow_the_consumer() -> None:
    book, node = PublishBook(), server("n1")
    row = consumer(created=LONG_AGO)
    looks: list[tuple[Counters, Counters]] = [
        (((FIRST_LIFE, 100),), ((("N1", 12, "2", ""), 10),)),
        (((FIRST_LIFE, 120), (("N1", 12, "3", ""), 5)), ((("N1", 12, "2", ""), 13),)),
        (((OTHER_NODE, 7),), ((("N2", 30, "2", ""), 1),)),
    ]
    told = [
        book.update(counts(acks=acks, pulls=pulls), snapshot(row, node)).consumers[WORKER]
        for acks, pulls in looks
    ]
    assert told == [ConsumerReplies(0, 0), ConsumerReplies(25, 3), ConsumerReplies(32, 4)]
    between = book.update(None, snapshot(row, node, after=60)).consumers[WORKER]
    assert between == ConsumerReplies(32, 4)
    assert book.update(None, snapshot(row, node, after=200)).consumers == {}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(consumer_config(kind="push"), ConsumerReplies(3, None), id="push"),
        pytest.param(consumer_config(ack_policy="none"), ConsumerReplies(None, 4), id="no acks"),
        pytest.param(None, None, id="configuration not known"),
    ],
)
def test_only_what_the_consumer_can_get_is_told(
    config: Any, expected: ConsumerReplies | None
) -> None:
    book, node = PublishBook(), server("n1")
    book.update(None, snapshot(node))
    row = consumer(created=at(NOW + 5), config=config)
    got = book.update(
        counts(acks=((FIRST_LIFE, 3),), pulls=((OTHER_NODE, 4),)), snapshot(row, node)
    )
    assert got.consumers.get(WORKER) == expected


ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"


@pytest.mark.parametrize(
    ("listeners", "kept", "whole", "captured"),
    [
        pytest.param([f"{ADVISORY}.ORDERS.worker"], "orders", True, 1, id="this consumer's"),
        pytest.param([f"{ADVISORY}.*.worker"], "orders", False, 1, id="a part is enough for yes"),
        pytest.param(["$JS.EVENT.>"], "orders", True, 1, id="everything"),
        pytest.param([f"{ADVISORY}.ORDERS.other"], "orders", True, 0, id="another's"),
        pytest.param([], f"{ADVISORY}.>", False, 1, id="a stream"),
        pytest.param([], "orders", True, 0, id="nobody"),
        pytest.param([], "orders", False, None, id="nobody, but not all were seen"),
    ],
)
def test_dead_letters_are_captured_by_a_stream_or_a_subscriber(
    listeners: list[str], kept: str, whole: bool, captured: int | None
) -> None:
    rows = (
        stream(config=stream_config(subjects=(kept,))),
        consumer(config=consumer_config(max_deliver=5)),
        server("n1"),
    )
    found = counts(
        advisory_listeners={"APP": frozenset(listeners)},
        whole_accounts=frozenset({"APP"} if whole else ()),
    )
    told = PublishBook().update(found, snapshot(*rows)).consumers.get(WORKER)
    assert (told.dead_letter_captured if told else None) == captured


def test_without_looks_a_stream_that_keeps_the_advisory_is_still_seen() -> None:
    keeper = stream(config=stream_config(subjects=(f"{ADVISORY}.ORDERS.*",)))
    finite, endless = consumer_config(max_deliver=5), consumer_config()
    rows = consumer(config=finite), consumer("patient", config=endless)
    told = PublishBook().update(None, snapshot(keeper, *rows)).consumers
    assert told == {WORKER: ConsumerReplies(dead_letter_captured=1)}
