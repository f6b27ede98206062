"""One dedupe counter, fed by the best method at hand and never set back by a change of method."""

from exporter.events.counts import EventCounts, StreamCounts, TapState
from exporter.events.dedupe import DedupeBook, DedupeHits

ORDERS = ("APP", "ORDERS")
ELSEWHERE = ("OTHER", "ORDERS")


def heard(duplicates: int, *, active: bool = True, breaks: int = 0) -> EventCounts:
    tap = TapState("APP", active, breaks=breaks)
    return EventCounts(streams={ORDERS: StreamCounts(duplicates=duplicates)}, tap=tap)


def test_with_the_tap_acknowledgements_count_and_rejections_do_not() -> None:
    book = DedupeBook()
    assert book.update([ORDERS], heard(0), {ORDERS: 0})[ORDERS] == DedupeHits(0, True)
    assert book.update([ORDERS], heard(5), {ORDERS: 8})[ORDERS] == DedupeHits(5, True)


def test_without_the_tap_unstored_publishes_are_the_upper_bound() -> None:
    book = DedupeBook()
    assert book.update([ORDERS], EventCounts(), {ORDERS: 3}) == {ORDERS: DedupeHits(3, False)}
    assert book.update([ORDERS], EventCounts(), {ORDERS: 8}) == {ORDERS: DedupeHits(8, False)}


def test_with_neither_there_is_nothing_to_say() -> None:
    book = DedupeBook()
    assert book.update([ORDERS], EventCounts(), {}) == {}
    assert book.update([ORDERS], heard(5, active=False), {}) == {}


def test_the_tap_alone_suffices_and_knows_streams_without_any_duplicate() -> None:
    book = DedupeBook()
    counts = EventCounts(tap=TapState("APP", active=True))
    assert book.update([ORDERS], counts, {}) == {ORDERS: DedupeHits(0, True)}


def test_the_counter_goes_on_when_the_tap_goes_off_and_on() -> None:
    book = DedupeBook()
    book.update([ORDERS], heard(4), {ORDERS: 6})
    off = book.update([ORDERS], heard(4, active=False, breaks=1), {ORDERS: 9})
    assert off[ORDERS] == DedupeHits(4 + 3, False)
    back = book.update([ORDERS], heard(5, breaks=1), {ORDERS: 12})
    assert back[ORDERS] == DedupeHits(7 + 3, False)  # it was not there all the time
    after = book.update([ORDERS], heard(7, breaks=1), {ORDERS: 20})
    assert after[ORDERS] == DedupeHits(10 + 2, True)


def test_an_interval_with_drops_is_not_exact() -> None:
    book = DedupeBook()
    book.update([ORDERS], heard(0), {ORDERS: 0})
    assert book.update([ORDERS], heard(2, breaks=1), {ORDERS: 5})[ORDERS] == DedupeHits(5, False)


def test_a_break_without_accounting_leaves_what_was_heard() -> None:
    book = DedupeBook()
    book.update([ORDERS], heard(0), {})
    assert book.update([ORDERS], heard(2, breaks=1), {})[ORDERS] == DedupeHits(2, False)


def test_an_account_that_is_not_tapped_has_the_upper_bound() -> None:
    book = DedupeBook()
    hits = book.update([ORDERS, ELSEWHERE], heard(1), {ELSEWHERE: 2})
    assert hits == {ORDERS: DedupeHits(1, True), ELSEWHERE: DedupeHits(2, False)}


def test_a_counter_that_begins_again_adds_what_it_shows() -> None:
    book = DedupeBook()
    book.update([ORDERS], EventCounts(), {ORDERS: 10})
    assert book.update([ORDERS], EventCounts(), {ORDERS: 2})[ORDERS].total == 12


def test_a_poll_without_accounting_does_not_bring_its_publishes_twice() -> None:
    book = DedupeBook()
    book.update([ORDERS], EventCounts(), {ORDERS: 10})
    assert book.update([ORDERS], EventCounts(), {}) == {}
    assert book.update([ORDERS], EventCounts(), {ORDERS: 11})[ORDERS].total == 11


def test_a_stream_that_is_gone_begins_anew() -> None:
    book = DedupeBook()
    book.update([ORDERS], EventCounts(), {ORDERS: 10})
    book.update([], EventCounts(), {})
    assert book.update([ORDERS], EventCounts(), {ORDERS: 1})[ORDERS].total == 1
