"""When the publish-ack tap has had too much."""

from exporter.events.ack_tap import WINDOW_SECONDS, RateLimit, TapLimits


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_rate_up_to_the_limit_is_borne_for_ever() -> None:
    clock = Clock()
    rate_limit = RateLimit(TapLimits(max_rate=8), clock)
    for _ in range(500):
        assert rate_limit.exceeded(1) == ""
        clock.now += 1 / 8


def test_a_burst_that_the_window_can_bear_is_no_reason() -> None:
    clock = Clock()
    rate_limit = RateLimit(TapLimits(max_rate=10), clock)
    assert [rate_limit.exceeded(1) for _ in range(int(10 * WINDOW_SECONDS))] == [""] * 50
    clock.now += WINDOW_SECONDS
    assert rate_limit.exceeded(1) == ""


def test_one_more_than_the_window_can_bear_is_too_much_at_once() -> None:
    rate_limit = RateLimit(TapLimits(max_rate=10), Clock())
    for _ in range(50):
        rate_limit.exceeded(1)
    assert rate_limit.exceeded(1) == "more than 10 messages per second"


def test_what_was_dropped_counts_too() -> None:
    rate_limit = RateLimit(TapLimits(max_rate=10), Clock())
    assert rate_limit.exceeded(1, messages=51) == "more than 10 messages per second"


def test_few_but_large_messages_can_be_too_much() -> None:
    rate_limit = RateLimit(TapLimits(max_byte_rate=1000), Clock())
    assert rate_limit.exceeded(5000) == ""
    assert rate_limit.exceeded(1) == "more than 1000 bytes per second"
