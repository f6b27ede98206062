"""Facts that several checks share: formats, subjects, balance, times and versions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.audit.contexts import KnownHistory, audit_context, consumer_context
from support.exporter.models import NOW, at, consumer, server, stream

from exporter.audit.facts import ack_times
from exporter.audit.facts.account_limits import accounts_near_limit
from exporter.audit.facts.idle_time import consumer_idle_seconds, stream_idle_seconds
from exporter.audit.facts.server_balance import overloaded
from exporter.audit.facts.server_versions import version_numbers
from exporter.audit.facts.subject_overlap import overlap
from exporter.audit.units import amount, duration, listed, percent, plural, size
from exporter.events.counts import ConsumerCounts, EventCounts
from exporter.exposition.histogram import Histogram
from exporter.model import Account, AccountUsage
from exporter.signals.loss.coverage import covers

WORDS = st.sampled_from(["a", "b", "c"])
LITERALS = st.lists(WORDS, min_size=1, max_size=4).map(".".join)
WIDE = st.tuples(
    st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3), st.booleans()
).map(lambda made: ".".join([*made[0], ">"] if made[1] else made[0]))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.25, "0.25s"), (30, "30s"), (59.5, "59.5s"), (60, "1m"), (90, "1m30s"), (3600, "1h"),
        (3661, "1h1m"), (86400, "1d"), (90000, "1d1h"), (31 * 86400, "31d"),
    ],
)  # fmt: skip
def test_a_time_is_written_as_the_nats_program_reads_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1000, "1,000 B"), (1024, "1 KiB"), (1023 << 20, "1,023 MiB"), (5 << 40, "5 TiB")],
)
def test_a_size_has_a_unit_that_a_person_reads(count: int, text: str) -> None:
    assert size(count) == text


def test_number_formats() -> None:
    assert [amount(0.1), amount(12.34), amount(1234.5)] == ["0.1", "12.3", "1,234"]
    assert [percent(0.011), percent(0.5)] == ["1.1%", "50%"]
    assert [plural(1, "stream"), plural(1200, "stream")] == ["1 stream", "1,200 streams"]
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


@pytest.mark.parametrize(
    ("count", "limit", "found"),
    [
        (8, 10, []), (9, 10, ["9 streams, limit 10"]), (11, 10, ["11 streams, limit 10"]),
        (None, 10, []), (9, None, []), (0, 0, []),
    ],
)  # fmt: skip
def test_a_count_is_near_its_limit_only_where_both_are_known(
    count: int | None, limit: int | None, found: list[str]
) -> None:
    usage = AccountUsage("", streams=count, streams_limit=limit)
    context = audit_context(accounts=(Account("APP", (usage,)),))
    findings = accounts_near_limit(
        context, lambda row: (row.streams, row.streams_limit), "streams", near=0.9
    )
    assert [(one.account, one.evidence) for one in findings] == [("APP", text) for text in found]


def test_each_tier_of_an_account_has_a_limit_of_its_own() -> None:
    tiers = tuple(AccountUsage(tier, streams=9, streams_limit=most)
                  for tier, most in (("R1", 100), ("R3", 10)))  # fmt: skip
    context = audit_context(accounts=(Account("APP", tiers),))
    findings = accounts_near_limit(
        context, lambda row: (row.streams, row.streams_limit), "streams", near=0.9
    )
    assert [one.evidence for one in findings] == ["9 streams, limit 10"]


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("orders.>", "orders.eu", True), ("orders.*", "*.eu", True), ("orders.*", "orders", False),
        ("orders.>", "orders", False), (">", "$JS.x", True), ("a.b", "a.b.c", False),
        ("a.*.c", "a.b.>", True), ("a.b.>", "a.*", False), ("a", "b", False),
    ],
)  # fmt: skip
def test_subjects_overlap_when_one_message_fits_both(one: str, other: str, meet: bool) -> None:
    assert overlap(one, other) is meet
    assert overlap(other, one) is meet


@given(WIDE, WIDE, LITERALS)
def test_a_message_that_fits_both_proves_an_overlap(one: str, other: str, subject: str) -> None:
    if covers(one, subject) and covers(other, subject):
        assert overlap(one, other)


@given(WIDE, LITERALS)
def test_with_a_plain_subject_to_overlap_is_to_cover(wide: str, subject: str) -> None:
    assert overlap(wide, subject) is covers(wide, subject)


def test_versions_compare_as_numbers() -> None:
    assert version_numbers("2.11.8") == (2, 11, 8)
    assert version_numbers("2.15.0-dev") > version_numbers("2.9.10") > version_numbers("2.9.9-RC.1")
    assert version_numbers("") == version_numbers("main") == ()


def test_a_stream_whose_last_message_was_removed_is_of_unknown_age() -> None:
    created = at(NOW - 500)
    assert stream_idle_seconds(stream(created=created, last_seq=9), NOW) is None
    assert stream_idle_seconds(stream(created=created), NOW) == 500
    assert stream_idle_seconds(stream(last_time=at(NOW - 20), last_seq=9), NOW) == 20


def test_a_delivery_that_the_server_forgot_is_not_none() -> None:
    created = at(NOW - 500)
    assert consumer_idle_seconds(consumer(created=created, delivered_consumer_seq=1), NOW) is None
    assert consumer_idle_seconds(consumer(created=created), NOW) == 500


def test_load_is_compared_within_complete_clusters() -> None:
    rows = [
        server(name, cluster=name[0], jetstream=True, storage_used=used, up=up)
        for name, used, up in (
            ("a1", 90, True), ("a2", 10, True), ("b1", 500, True), ("b2", 500, True),
            ("c1", 90, True), ("c2", 10, False), ("d1", 90, True),
        )
    ]  # fmt: skip
    found = overloaded(audit_context(*rows), lambda row: row.storage_used, times=1.5, least=1)
    assert [(load.server.name, load.load, load.average) for load in found] == [("a1", 90, 50)]


def test_the_slowest_acks_are_known_by_their_bucket() -> None:
    row = consumer()
    key = (row.account, row.stream, row.name)

    def ack_time(*counts: int) -> ack_times.AckTime | None:
        times = Histogram((1.0, 2.0), counts, 0.0)
        counts_of = EventCounts(consumers={key: ConsumerCounts(ack_times=times)})
        return ack_times.p99_ack_time(audit_context(row, events=counts_of), row)

    assert ack_time(99, 0, 0) is None, "too few samples for a p99"
    slow = ack_time(90, 9, 1)
    assert slow is not None
    assert (slow.low, slow.high) == (1.0, 2.0)
    very = ack_time(90, 8, 2)
    assert very is not None
    assert (very.low, very.high) == (2.0, float("inf"))
    assert very.text == "p99 of 100 sampled times to ack: above 2s"
    quick = ack_time(100, 1, 0)
    assert quick is not None
    assert (quick.low, quick.high) == (0.0, 1.0)


def test_rollups_take_precedence_over_samples() -> None:
    seen = consumer_context(history={"p99_time_to_ack": 3.0, "mean_time_to_ack": 1.0})
    row = seen.snapshot.consumers[0]
    slow, usual = ack_times.p99_ack_time(seen, row), ack_times.mean_ack_time(seen, row)
    assert slow is not None
    assert usual is not None
    # Rollups have the upper bound of a bucket, so the value is above the bound before it.
    assert (slow.low, slow.high, usual.low) == (2.5, 3.0, 1.0)
    assert slow.text.endswith("2.5s to 3s")
    assert usual.text.endswith("over a day: 1s")
    assert ack_times.has_ack_times(seen)
    assert not ack_times.has_ack_times(consumer_context())
    assert KnownHistory().p99_time_to_ack(("a", "b", "c")) is None
