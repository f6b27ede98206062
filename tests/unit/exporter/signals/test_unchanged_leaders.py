"""Leaders differ: one that is about to go forgets, and two of them show the same at two moments."""

from __future__ import annotations

from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer, snapshot, stream, stream_config

from exporter.model import Consumer, Stream
from exporter.signals.engine import SignalState
from exporter.signals.results import ConsumerSignals

POLL = 15.0
STREAM = stream(
    created=at(NOW - 5000),
    first_seq=1,
    last_seq=20,
    messages=20,
    first_time=at(NOW - 1000),
    last_time=at(NOW),
)
# Ten were sent; the sixth and what follows it are unacked.
AT_WORK = consumer(
    created=at(NOW - 4000),
    delivered_consumer_seq=10,
    delivered_stream_seq=10,
    ack_floor_consumer_seq=5,
    ack_floor_stream_seq=5,
    num_ack_pending=5,
    num_pending=10,
    stream_first_seq=1,
)
# A leader of 2.9 that steps down: it let go of what is unacked and still calls itself the leader.
LETS_GO = replace(AT_WORK, num_ack_pending=0)


def result_after(*rows: Consumer) -> ConsumerSignals:
    return result_of(*((STREAM, row) for row in rows))


def result_of(*polls: tuple[Stream, Consumer]) -> ConsumerSignals:
    state = SignalState()
    found = [
        state.update(replace(snapshot(*poll), taken=NOW + POLL * place))
        for place, poll in enumerate(polls)
    ]
    return found[-1].consumers["APP", "ORDERS", "worker"]


def test_what_a_leader_let_go_of_is_unfinished_under_the_next_one() -> None:
    assert result_after(AT_WORK, LETS_GO).unfinished_seq == 11
    after = result_after(AT_WORK, LETS_GO, replace(AT_WORK, leader="n2"))
    assert after.unfinished_seq == 6
    assert after.lag == result_after(AT_WORK, AT_WORK, AT_WORK).lag


def test_so_it_is_when_messages_were_sent_meanwhile() -> None:
    sent = replace(AT_WORK, delivered_consumer_seq=12, delivered_stream_seq=12, num_ack_pending=7)
    assert result_after(AT_WORK, LETS_GO, sent).unfinished_seq == 6


def test_what_was_finished_stays_finished_when_others_are_sent() -> None:
    """The floor lies behind for another reason: a message was given up."""
    done = replace(AT_WORK, num_ack_pending=0)
    sent = replace(done, delivered_consumer_seq=12, delivered_stream_seq=12, num_ack_pending=2)
    assert result_after(done, done, sent).unfinished_seq == 11


# Messages expire on each replica separately, and here first on that of the stream's leader.
KEPT = replace(
    STREAM,
    config=stream_config(max_age_seconds=1005.0),
    first_seq=1,
    last_seq=10,
    messages=10,
    last_time=at(NOW - 1000),
)
EMPTY = replace(KEPT, first_seq=11, messages=0, first_time=None, last_time=None)
SENT_FIVE = replace(
    AT_WORK,
    num_ack_pending=0,
    delivered_consumer_seq=5,
    delivered_stream_seq=5,
    ack_floor_consumer_seq=5,
    ack_floor_stream_seq=5,
    num_pending=5,
)
ALL_GONE = replace(SENT_FIVE, stream_first_seq=11, num_pending=0)


def test_what_one_copy_drops_a_poll_later_is_lost_and_not_purged() -> None:
    later = result_of((KEPT, SENT_FIVE), (EMPTY, SENT_FIVE), (EMPTY, ALL_GONE))
    assert (later.lost, later.purged) == (5, 0)
    at_once = result_of((KEPT, SENT_FIVE), (EMPTY, ALL_GONE))
    assert (at_once.lost, at_once.purged) == (5, 0)


def test_a_purge_after_limits_had_their_time_is_not_claimed() -> None:
    jumped = replace(ALL_GONE, delivered_stream_seq=10, ack_floor_stream_seq=10)
    later = result_of((KEPT, SENT_FIVE), (EMPTY, SENT_FIVE), (EMPTY, jumped))
    # It was moved, but limits may have removed them before.
    assert (later.lost, later.lost_upper, later.purged) == (0, 5, 0)
    plain = replace(KEPT, config=stream_config())
    emptied = replace(EMPTY, config=stream_config())
    later = result_of((plain, SENT_FIVE), (emptied, SENT_FIVE), (emptied, ALL_GONE))
    assert (later.lost, later.purged) == (0, 5)
