"""One dedupe counter, fed by the best method at hand and never set back by a change of method."""

from exporter.signals.publishes.dedupe import DedupeHits


def test_with_the_tap_acknowledgements_count_and_rejections_do_not() -> None:
    hits = DedupeHits()
    assert hits.with_tap(0, 0, 0) == (0, 1)
    assert hits.with_tap(5, 0, 8) == (5, 1)


def test_without_the_tap_unstored_publishes_are_the_upper_bound() -> None:
    hits = DedupeHits()
    assert hits.without_tap(3) == (3, 0)
    assert hits.without_tap(8) == (8, 0)


def test_with_neither_there_is_nothing_to_report() -> None:
    assert DedupeHits().without_tap(None) == (None, None)


def test_the_tap_alone_suffices() -> None:
    assert DedupeHits().with_tap(0, 0, None) == (0, 1)


def test_the_counter_goes_on_when_the_tap_goes_off_and_on() -> None:
    hits = DedupeHits()
    hits.with_tap(4, 0, 6)
    assert hits.without_tap(9) == (4 + 3, 0)
    assert hits.with_tap(5, 1, 12) == (7 + 3, 0)  # it was not there all the time
    assert hits.with_tap(7, 1, 20) == (10 + 2, 1)


def test_an_interval_with_drops_is_not_exact() -> None:
    hits = DedupeHits()
    hits.with_tap(0, 0, 0)
    assert hits.with_tap(2, 1, 5) == (5, 0)


def test_a_break_without_accounting_leaves_what_was_received() -> None:
    hits = DedupeHits()
    hits.with_tap(0, 0, None)
    assert hits.with_tap(2, 1, None) == (2, 0)


def test_a_tap_that_begins_again_adds_what_it_shows() -> None:
    hits = DedupeHits()
    hits.with_tap(10, 0, None)
    assert hits.with_tap(2, 0, None) == (12, 1)


def test_a_poll_without_accounting_does_not_bring_its_publishes_twice() -> None:
    hits = DedupeHits()
    hits.without_tap(10)
    assert hits.without_tap(None) == (None, None)
    assert hits.without_tap(11) == (11, 0)
