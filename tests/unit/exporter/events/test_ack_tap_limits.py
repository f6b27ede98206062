"""When the publish-ack tap has had too much."""

from exporter.events.ack_tap import WINDOW_SECONDS, Ceiling, TapLimits


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_rate_up_to_the_limit_is_borne_for_ever() -> None:
    clock = Clock()
    ceiling = Ceiling(TapLimits(max_rate=8), clock)
    for _ in range(500):
        assert ceiling.passed(1) == ""
        clock.now += 1 / 8


def test_a_burst_that_the_window_can_bear_is_no_reason() -> None:
    clock = Clock()
    ceiling = Ceiling(TapLimits(max_rate=10), clock)
    assert [ceiling.passed(1) for _ in range(int(10 * WINDOW_SECONDS))] == [""] * 50
    clock.now += WINDOW_SECONDS
    assert ceiling.passed(1) == ""


def test_one_more_than_the_window_can_bear_is_too_much_at_once() -> None:
    ceiling = Ceiling(TapLimits(max_rate=10), Clock())
    for _ in range(50):
        ceiling.passed(1)
    assert ceiling.passed(1) == "more than 10 messages a second"


def test_what_was_dropped_counts_too() -> None:
    ceiling = Ceiling(TapLimits(max_rate=10), Clock())
    assert ceiling.passed(1, messages=51) == "more than 10 messages a second"


def test_few_but_large_messages_can_be_too_much() -> None:
    ceiling = Ceiling(TapLimits(max_byte_rate=1000), Clock())
    assert ceiling.passed(5000) == ""
    assert ceiling.passed(1) == "more than 1000 bytes a second"
