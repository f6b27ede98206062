"""The event state: what it counts, for which account, and when it forgets."""

from itertools import count

import pytest

from exporter.events.ack_samples import AckSample
from exporter.events.advisories import Advisory
from exporter.events.bounded_states import MOST_ABSENT, MOST_UNKNOWN
from exporter.events.counts import ConsumerCounts, StreamCounts
from exporter.events.publish_acks import UNNAMED_STREAM, Unstored
from exporter.events.state import OWN, EventState


def forget(
    state: EventState,
    consumers: set[tuple[str, str, str]],
    streams: set[tuple[str, str]],
    *,
    complete: bool = True,
) -> None:
    for _ in state.forget_absent(consumers, streams, complete=complete):
        pass


WORKER = ("APP", "ORDERS", "worker")
ORDERS = ("APP", "ORDERS")


@pytest.fixture
def state() -> EventState:
    state = EventState(clock=count(100.0).__next__)
    state.name_account("APP")
    return state


def of_worker(kind: str, seq: int = 1, reason: str = "") -> Advisory:
    return Advisory(kind, stream="ORDERS", consumer="worker", stream_seq=seq, reason=reason)


def of_orders(kind: str, advisory_id: str = "", account: str = "") -> Advisory:
    return Advisory(kind, advisory_id, account, stream="ORDERS")


def test_each_kind_of_event_is_counted_where_it_belongs(state: EventState) -> None:
    for seq in (3, 9, 4):
        state.record(OWN, of_worker("consumer_max_deliveries", seq))
    for _ in range(2):
        state.record(OWN, of_worker("consumer_msg_naked"))
    state.record(
        OWN, of_worker("consumer_msg_terminated", reason="Unacknowledged message was deleted")
    )
    state.record(OWN, of_worker("consumer_msg_terminated", reason="poison"))
    state.record(OWN, of_worker("consumer_msg_terminated"))
    state.record(OWN, of_orders("stream_restore_complete"))
    state.record(OWN, of_orders("stream_quorum_lost", "a"))
    state.record(OWN, of_orders("stream_created"))
    counts = state.counts()
    assert counts.consumers == {
        WORKER: ConsumerCounts(
            naks=2,
            exhausted=3,
            last_exhausted_seq=4,
            exhausted_seqs=frozenset({3, 9, 4}),
            terms=(("client", 2), ("deleted", 1)),
            exhausted_at=102.0,
        )
    }
    assert counts.streams == {
        ORDERS: StreamCounts(quorum_lost=1, restores=1, quorum_lost_at=104.0, restored_at=103.0)
    }
    assert counts.advisories == {
        ("APP", "consumer_max_deliveries"): 3,
        ("APP", "consumer_msg_naked"): 2,
        ("APP", "consumer_msg_terminated"): 3,
        ("APP", "stream_restore_complete"): 1,
        ("APP", "stream_quorum_lost"): 1,
        ("APP", "stream_created"): 1,
    }


def test_ack_samples_fill_the_buckets_of_their_consumer(state: EventState) -> None:
    for seconds in (0.0005, 0.001, 0.0011, 4.0, 301.0):
        state.record_ack(AckSample("ORDERS", "worker", seconds))
    times = state.counts().consumers[WORKER].ack_times
    assert times is not None
    by_bound = dict(zip((*times.bounds, "more"), times.counts, strict=True))
    assert {bound: n for bound, n in by_bound.items() if n} == {
        0.001: 2, 0.0025: 1, 5.0: 1, "more": 1,
    }  # fmt: skip
    assert times.sum == pytest.approx(305.0026)


def test_duplicates_and_rejections_are_counted_apart(state: EventState) -> None:
    for code in (None, 10071, 10071, 10060, None):
        state.record_unstored(Unstored("ORDERS", code))
    assert state.counts().streams[ORDERS] == StreamCounts(
        duplicates=2, rejections=((10060, 1), (10071, 2))
    )


def test_counts_taken_before_do_not_change_with_later_events(state: EventState) -> None:
    state.record(OWN, of_worker("consumer_msg_naked"))
    before = state.counts()
    state.record(OWN, of_worker("consumer_msg_naked"))
    assert before.consumers[WORKER].naks == 1
    assert before.advisories["APP", "consumer_msg_naked"] == 1


@pytest.mark.parametrize("own_first", [True, False])
def test_the_system_accounts_copy_of_an_advisory_is_counted_once(
    state: EventState, own_first: bool
) -> None:
    copies = [(OWN, of_orders("stream_quorum_lost", "7")),
              ("APP", of_orders("stream_quorum_lost", "7", "APP"))]  # fmt: skip
    for account, advisory in copies if own_first else reversed(copies):
        state.record(account, advisory)
    state.record("APP", of_orders("stream_quorum_lost", "8", "APP"))
    counts = state.counts()
    assert counts.streams == {ORDERS: StreamCounts(quorum_lost=2, quorum_lost_at=101.0)}
    assert counts.advisories == {("APP", "stream_quorum_lost"): 2}


def test_copies_received_before_the_account_name_end_in_one_row() -> None:
    state = EventState(clock=count(100.0).__next__)
    state.record("AAQ7", of_orders("stream_quorum_lost", "1", "AAQ7"))
    state.record(OWN, of_orders("stream_quorum_lost", "2"))
    state.name_account("APP", "AAQ7")
    assert state.counts().streams == {ORDERS: StreamCounts(quorum_lost=2, quorum_lost_at=101.0)}
    state.record("AAQ7", of_orders("stream_quorum_lost", "3", "AAQ7"))
    counts = state.counts()
    assert counts.streams == {ORDERS: StreamCounts(quorum_lost=3, quorum_lost_at=102.0)}
    assert counts.advisories == {("APP", "stream_quorum_lost"): 3}


def test_accounts_are_shown_by_their_names_where_copies_give_ids(state: EventState) -> None:
    state.account_names = {"ABZ4": "OTHER"}
    state.record("ABZ4", of_orders("stream_quorum_lost", "1", "ABZ4"))
    state.record("", Advisory("domain_leader_elected"))
    counts = state.counts()
    assert set(counts.streams) == {("OTHER", "ORDERS")}
    assert set(counts.advisories) == {
        ("OTHER", "stream_quorum_lost"), ("", "domain_leader_elected"),
    }  # fmt: skip


def test_a_deleted_asset_is_forgotten_after_two_responses_without_it(state: EventState) -> None:
    state.record(OWN, of_worker("consumer_msg_naked"))
    state.record(OWN, of_orders("stream_restore_complete"))
    forget(state, set(), set())
    assert (set(state.counts().consumers), set(state.counts().streams)) == ({WORKER}, {ORDERS})
    forget(state, set(), set())
    assert (state.counts().consumers, state.counts().streams) == ({}, {})
    assert state.counts().advisories["APP", "consumer_msg_naked"] == 1


def test_an_asset_in_the_next_response_is_kept(state: EventState) -> None:
    state.record(OWN, of_worker("consumer_msg_naked"))
    for named in (set(), {WORKER}, set(), {WORKER}):
        forget(state, named, {ORDERS})
    assert state.counts().consumers[WORKER].naks == 1


def test_rejections_that_name_no_stream_stay(state: EventState) -> None:
    state.record_unstored(Unstored(UNNAMED_STREAM, 10071))
    for _ in range(3):
        forget(state, set(), set())
    assert state.counts().streams == {("APP", ""): StreamCounts(rejections=((10071, 1),))}


def test_only_the_latest_exhausted_sequences_are_kept_but_all_are_counted(
    state: EventState,
) -> None:
    for seq in range(1, 1502):
        state.record(OWN, of_worker("consumer_max_deliveries", seq))
    counts = state.counts().consumers[WORKER]
    assert (counts.exhausted, counts.last_exhausted_seq) == (1501, 1501)
    assert counts.exhausted_seqs == frozenset(range(502, 1502))


def test_what_cannot_be_used_is_counted_as_such(state: EventState) -> None:
    state.record_unusable(OWN, "malformed")
    state.record(OWN, Advisory("malformed"))
    state.record_unusable("OTHER", "other_domain")
    assert state.counts().advisories == {("APP", "malformed"): 2, ("OTHER", "other_domain"): 1}


# --- bounds: any client of the account can send events ---------------------------------------------


def sample(number: int) -> AckSample:
    return AckSample("FORGED", f"consumer-{number}", 0.1)


def test_samples_of_invented_consumers_do_not_fill_the_memory(state: EventState) -> None:
    state.record(OWN, of_worker("consumer_msg_naked"))
    forget(state, {WORKER}, {ORDERS})
    for number in range(MOST_UNKNOWN + 500):
        state.record_ack(sample(number))
    state.record(OWN, of_worker("consumer_msg_naked"))
    assert len(state.counts().consumers) == MOST_UNKNOWN + 1
    assert state.dropped == 500
    assert state.counts().consumers[WORKER].naks == 2


def test_invented_consumers_are_forgotten_without_a_complete_poll(state: EventState) -> None:
    for number in range(MOST_UNKNOWN):
        state.record_ack(sample(number))
    for _ in range(2):
        forget(state, set(), {ORDERS}, complete=False)
    state.record(OWN, of_worker("consumer_msg_naked"))
    assert set(state.counts().consumers) == {WORKER}
    assert state.dropped == 0


def test_a_partial_poll_forgets_no_consumer_that_a_poll_has_named(state: EventState) -> None:
    state.record(OWN, of_worker("consumer_msg_naked"))
    forget(state, {WORKER}, {ORDERS})
    for _ in range(3):
        forget(state, set(), set(), complete=False)
    assert state.counts().consumers[WORKER].naks == 1
    forget(state, set(), set(), complete=True)
    assert state.counts().consumers == {}


def test_the_id_of_the_account_is_known_after_its_name_was_set_again(state: EventState) -> None:
    state.name_account("APP", "AAQ7")
    state.name_account("APP")
    state.record("AAQ7", Advisory("stream_quorum_lost", stream="ORDERS"))
    assert set(state.counts().streams) == {ORDERS}


def test_known_names_that_come_and_go_under_partial_polls_are_bounded(state: EventState) -> None:
    rounds, each = 15, MOST_ABSENT // 10
    for made in range(rounds):
        names = {("APP", "EPHEMERAL", f"c{made}-{number}") for number in range(each)}
        for _, stream, name in names:
            state.record_ack(AckSample(stream, name, 0.1))
        forget(state, names, {("APP", "EPHEMERAL")}, complete=False)
    kept = state.counts().consumers
    assert len(kept) == MOST_ABSENT + each  # those of the last poll are not absent
    assert {name.partition("-")[0] for _, _, name in kept} == {f"c{made}" for made in range(4, 15)}
    assert state.forgotten == rounds * each - len(kept)
    assert state.dropped == 0


def test_an_absent_stream_may_be_joined_with_another_between_polls() -> None:
    state = EventState()
    state.record("APP", Advisory("stream_quorum_lost", stream="ORDERS"))
    forget(state, set(), set())
    state.name_account("APP")
    forget(state, set(), set())
    assert state.counts().streams[ORDERS].quorum_lost == 1


def test_a_name_that_no_server_accepts_is_dropped(state: EventState) -> None:
    state.record_ack(AckSample("ORDERS", "x" * 256, 0.1))
    assert (state.counts().consumers, state.dropped) == ({}, 1)


def test_error_codes_of_a_stream_are_bounded(state: EventState) -> None:
    for code in range(10_000, 10_100):
        state.record_unstored(Unstored("ORDERS", code))
    state.record_unstored(Unstored("ORDERS", 10_000))
    rejections = dict(state.counts().streams[ORDERS].rejections)
    assert (len(rejections), rejections[10_000], state.dropped) == (64, 2, 36)


def test_accounts_in_copies_are_bounded(state: EventState) -> None:
    for number in range(10_500):
        state.record(f"A{number}", Advisory("stream_created", stream="ORDERS"))
    assert (len(state.counts().advisories), state.dropped) == (10_000, 500)


def test_forgetting_lets_other_tasks_run_in_between(state: EventState) -> None:
    names = {("APP", "FORGED", f"consumer-{number}") for number in range(MOST_UNKNOWN)}
    for number in range(MOST_UNKNOWN):
        state.record_ack(sample(number))
    portions = state.forget_absent(names, set(), complete=True)
    next(portions)
    state.record_ack(sample(MOST_UNKNOWN))
    assert len(list(portions)) == 1
    assert len(state.counts().consumers) == MOST_UNKNOWN + 1
