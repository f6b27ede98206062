"""Series in the order that they came in: guessed, never believed."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.nats.servers import long_run
from support.remote_write import messages as rw
from support.remote_write.decoded import DecoderHarness, rows_of

from archive.remote_write.decoder import SLACK, Version
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.remote_write.v1.label_cache import VALUED, ZERO, LabelCache, Slot
from archive.remote_write.v1.span_cache import CachedSpan, SpanSeries
from archive.remote_write.v1.wire_template import template_of
from archive.remote_write.varint_vector import words_of
from archive.settings.limits import Limits

NOW: Final = 1_794_800_000_000
EXAMPLES: Final = 2_000 if long_run() else 60
POOL: Final = 90
HOURS: Final = 3 * 3_600_000


def series(place: int, value: float, replica: str = "") -> rw.Series:
    """Of the pool; label sets of many lengths, around those where a header becomes longer."""
    labels = {"__replica__": replica} if replica else {}
    return rw.series(
        f"metric_{place % 7}", rw.sample(value, NOW), account="x" * place, job=f"{place}", **labels
    )


def decode(harness: DecoderHarness, *request: rw.Series, now: int = NOW) -> list[int]:
    decoded = harness.decode(Version.V1, rw.compressed(rw.request_v1(*request)), now)
    return decoded.batch.series.tolist()


# --- runs -----------------------------------------------------------------------------------------


@st.composite
def orders(draw: st.DrawFn) -> list[int]:
    """Some of the pool: mostly in its order from anywhere, sometimes stirred or with doubles."""
    first, count = draw(st.integers(0, POOL)), draw(st.integers(0, POOL))
    chosen = [(first + step) % POOL for step in range(count)]
    for _ in range(draw(st.integers(0, 4))):
        if chosen:
            at, to = (draw(st.integers(0, len(chosen) - 1)) for _ in range(2))
            chosen.insert(to, chosen[at] if draw(st.booleans()) else chosen.pop(at))
    return chosen


@st.composite
def requests(draw: st.DrawFn) -> list[rw.Series]:
    zeros = draw(st.sets(st.integers(0, POOL), max_size=draw(st.sampled_from([0, 3, 60]))))
    order = draw(orders())
    found = [series(place, 0.0 if place in zeros else 1.0 + place) for place in order]
    for _ in range(draw(st.integers(0, 2))):
        odd = draw(st.sampled_from(["several", "histogram", "refused", "new"]))
        at = draw(st.integers(0, len(found)))
        found.insert(at, _odd(odd, draw(st.integers(0, POOL))))
    return found


def _odd(kind: str, place: int) -> rw.Series:
    if kind == "several":
        return rw.Series(series(place, 1).labels, [rw.sample(1, NOW), rw.sample(2, NOW + 1)])
    if kind == "histogram":
        return rw.Series(series(place, 1).labels, histograms=[rw.Histogram(NOW)])
    if kind == "refused":
        return rw.Series([("job", "nameless")], [rw.sample(1, NOW)])
    return rw.series("new", rw.sample(1, NOW), place=f"{place}")


@pytest.mark.timeout(900)  # thousands of examples in the long run
@settings(
    max_examples=examples(EXAMPLES), suppress_health_check=[HealthCheck.too_slow], deadline=None
)
@given(
    st.lists(
        st.tuples(
            requests(),
            st.sampled_from(["", "", "restart", "forget"]),
            st.sampled_from([None, 0, 1]),
        ),
        max_size=8,
    )
)
def test_spans_and_the_field_by_field_decoder_agree_in_any_order(
    sent: list[tuple[list[rw.Series], str, int | None]],
) -> None:
    """And whichever connection they come by."""
    harness, cursors = DecoderHarness(), [ConnectionCursor(), ConnectionCursor()]
    for request, event, connection in sent:
        if event == "restart":
            harness.restart()
            cursors = [ConnectionCursor(), ConnectionCursor()]
        elif event == "forget":
            harness.decoder.forget_unused(NOW + HOURS)
        message = rw.request_v1(*request)
        expected = harness.slow_outcome(Version.V1, message, NOW)
        cursor = None if connection is None else cursors[connection]
        assert harness.outcome(Version.V1, rw.compressed(message), NOW, cursor) == expected


def header_length(size: int) -> int:
    return 1 + len(rw.varint(size))


def slots_of(table: LabelCache, raws: list[bytes]) -> list[Slot]:
    return [table.get_or_add(raw, header_length(len(raw) + VALUED))[0] for raw in raws]


def valued(slots: list[Slot]) -> SpanSeries:
    templates = [template_of(slot, VALUED) for slot in slots]
    return SpanSeries(slots, np.array(list(map(len, templates)), np.int64), b"".join(templates))


def test_a_slot_is_in_one_span_and_a_span_that_lost_its_half_is_released() -> None:
    table = LabelCache()
    raws = [b"%d" % place * 5 for place in range(8)]
    slots = slots_of(table, raws)
    first = CachedSpan(valued(slots))
    second = CachedSpan(valued(slots[:3]))
    assert [slot.span for slot in slots] == [second] * 3 + [first] * 5
    table.discard(slots[3])
    assert [slot.span for slot in slots[3:]] == [None] + [first] * 4
    table.discard(slots[4])
    assert [slot.span for slot in slots[3:]] == [None] * 5
    assert [slot.raw for slot in slots] == raws  # in the slot or its span
    assert list(first.rows(0, 8)) == []
    assert [raw for _, raw in second.rows(0, 8)] == raws[:3]


def test_a_span_grows_where_the_last_request_ended_unless_it_lost_a_slot() -> None:
    table = LabelCache()
    slots = slots_of(table, [b"%d" % place * 5 for place in range(9)])
    span = CachedSpan(valued(slots[:4]))
    assert span.continued(valued(slots[4:6]))
    assert [(slot.span, slot.row) for slot in slots[:6]] == [(span, row) for row in range(6)]
    assert not span.continued(valued(slots[5:7]))  # one of them has its place already
    assert slots[6].span is None
    table.discard(slots[0])
    assert not span.continued(valued(slots[6:8]))
    assert not CachedSpan(valued(slots[6:7])).continued(valued(slots[7:8] * 5_000))  # too long


def test_two_label_sets_with_one_hash_are_never_taken_for_each_other() -> None:
    table = LabelCache()
    (first,) = slots_of(table, [b"first"])
    table._by_header[first.header] = {hash(b"other"): first}  # as if both had this hash
    other, is_new = table.get_or_add(b"other", first.header)
    assert is_new
    assert not other.kept
    table.discard(other)
    assert table._by_header[first.header] == {hash(b"other"): first}


def in_memory(*request: rw.Series) -> tuple[bytearray, int]:
    message = rw.request_v1(*request)
    return bytearray(message + bytes(SLACK)), len(message)


def learned(population: list[rw.Series]) -> tuple[CachedSpan, list[Slot]]:
    """A run of these, as one request would leave it."""
    table = LabelCache()
    raws = [b"".join(rw.length(1, rw.label(pair)) for pair in each.labels) for each in population]
    slots = slots_of(table, raws)
    return CachedSpan(valued(slots)), slots


def test_a_span_yields_values_and_times_and_leaves_the_memory_unchanged() -> None:
    population = [series(place, 1.0 + place) for place in range(200)]
    span, slots = learned(population)
    memory, size = in_memory(*population)
    before = bytearray(memory)
    match = span.follow(memory, words_of(memory), 0, size, 0)
    assert (match.end, memory) == (size, before)
    assert match.indices.tolist() == [slot.index for slot in slots]
    assert match.bits.view(np.float64).tolist() == [1.0 + place for place in range(200)]
    assert set(match.times.tolist()) == {NOW}


def test_any_other_byte_ends_the_match_there() -> None:
    """Values and times are free; whatever else is not as it was must be read by the rules."""
    population = [series(3, 4.0), series(40, 0.0), series(90, 91.0)]
    span, _ = learned(population)
    span.learn_sizes(1, [ZERO])
    memory, size = in_memory(*population)
    ends = [len(in_memory(*population[:count])[0]) - SLACK for count in (1, 2, 3)]
    free = {at for end in ends for at in range(end - 6, end)}
    free |= {at for end in (ends[0], ends[2]) for at in range(end - 15, end - 7)}
    for at in range(size):
        spoiled = bytearray(memory)
        spoiled[at] ^= 0x01
        match = span.follow(spoiled, words_of(spoiled), 0, size, 0)
        broken = sum(end <= at for end in ends)
        assert len(match.indices) == (3 if at in free else broken), at
    for end in ends:  # a time of five bytes, and one of seven
        for at in (end - 2, end - 1):
            spoiled = bytearray(memory)
            spoiled[at] ^= 0x80
            match = span.follow(spoiled, words_of(spoiled), 0, size, 0)
            assert match.end < end


def test_a_match_ends_before_a_removed_slot_though_its_bytes_are_there() -> None:
    population = [series(place, 1.0) for place in range(10)]
    span, slots = learned(population)
    span.drop(slots[4])
    memory, size = in_memory(*population)
    match = span.follow(memory, words_of(memory), 0, size, 0)
    assert match.indices.tolist() == [slot.index for slot in slots[:4]]
    assert not span.resized(memory, match.end, size, 4)
    assert [slot for slot, _ in span.rows(0, 10)] == slots[:4]


def test_a_sample_that_becomes_zero_or_ceases_to_be_moves_what_is_behind_it() -> None:
    population = [series(place, 1.0 + place) for place in range(20, 60)]
    span, _ = learned(population)
    for zeros in ([0], [0, 17, 39], [17], []):
        sent = [series(place, 0.0 if row in zeros else 2.0) for row, place in enumerate(range(20, 60))]  # fmt: skip
        memory, size = in_memory(*sent)
        words, at, row = words_of(memory), 0, 0
        while at < size:
            match = span.follow(memory, words, at, size, row)
            at, row = match.end, row + len(match.indices)
            assert at == size or span.resized(memory, at, size, row)
        match = span.follow(memory, words, 0, size, 0)
        assert (match.end, row) == (size, 40)
        values = match.bits.view(np.float64).tolist()
        assert values == [0.0 if row in zeros else 2.0 for row in range(40)]


def test_a_size_that_the_header_cannot_encode_is_not_learned() -> None:
    """With a value the header of this one is longer by a byte: that is another slot."""
    raw = b"x" * (127 - ZERO)
    table = LabelCache()
    slot, _ = table.get_or_add(raw, header_length(127))
    span = CachedSpan(valued([slot]))
    assert span.raw(0) == raw
    span.learn_sizes(0, [VALUED])
    memory = bytearray(b"\x0a\x7f" + raw + b"\x12\x10\x09" + bytes(SLACK))
    assert not span.resized(memory, 0, 127 + VALUED, 0)
    assert span.raw(0) == raw


def test_a_request_is_predicted_from_the_cursor_of_its_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However the requests of several connections are mixed: after two rounds nothing is looked up."""
    harness, cursors = DecoderHarness(), [ConnectionCursor() for _ in range(3)]
    populations = [[series(place, 1) for place in range(start, 300, 3)] for start in range(3)]

    def send_all(shift: int) -> None:
        for first in range(0, 100, 20):
            for population, cursor in zip(populations, cursors, strict=True):
                turned = (population[shift:] + population[:shift])[first : first + 20]
                body = rw.compressed(rw.request_v1(*turned))
                assert harness.decode(Version.V1, body, NOW, cursor).written.samples == 20

    send_all(0)
    send_all(7)
    lookups: list[bytes] = []
    get = LabelCache.get_or_add

    def counted(table: LabelCache, raw: bytes, header: int) -> tuple[Slot, bool]:
        lookups.append(raw)
        return get(table, raw, header)

    monkeypatch.setattr(LabelCache, "get_or_add", counted)
    send_all(7)
    assert lookups == []


def test_a_series_that_was_forgotten_is_not_taken_for_another() -> None:
    """Its index is reused; a span that still had it would yield the wrong series."""
    harness = DecoderHarness()
    first = decode(harness, *(series(place, 1) for place in range(40)))
    later = NOW + HOURS
    decode(harness, *(series(place, 1) for place in range(0, 40, 2)), now=later)
    assert harness.decoder.forget_unused(later) == 20
    others = [rw.series("other", rw.sample(1, NOW), place=f"{n}") for n in range(20)]
    decode(harness, *others, now=later)  # they take the places
    again = decode(harness, *(series(place, 1) for place in range(40)), now=later)
    assert again == first


# --- series of an earlier process -----------------------------------------------------------------


@pytest.mark.parametrize("replica", ["", "a"])
@pytest.mark.parametrize("step", [1, -1, 7])
def test_after_a_restart_every_series_has_the_number_that_it_had(replica: str, step: int) -> None:
    harness = DecoderHarness()
    population = [series(place, place % 3, replica) for place in range(300)]
    numbers = decode(harness, *population)
    for _ in range(2):
        harness.restart()
        for _ in range(2):
            assert decode(harness, *population[::step]) == numbers[::step]
        assert len(harness.table) == 300


def test_labels_that_come_in_another_order_after_a_restart_are_the_same_series() -> None:
    harness = DecoderHarness()
    population = [series(place, 1) for place in range(300)]
    numbers = decode(harness, *population)
    harness.restart()
    turned = [rw.Series(each.labels[::-1], each.samples) for each in population]
    assert [decode(harness, each)[0] for each in turned] == numbers


def test_other_rules_after_a_restart_are_obeyed_by_series_of_before() -> None:
    few = rw.series("few", rw.sample(1, NOW), job="x")
    many = rw.series("many", rw.sample(1, NOW), **{f"l{n}": "x" for n in range(9)})
    long = rw.series("long", rw.sample(1, NOW), job="y" * 500)
    harness = DecoderHarness()
    decode(harness, few, many, long)
    harness.restart(Limits(labels=5, label_bytes=100))
    decoded = harness.decode(Version.V1, rw.compressed(rw.request_v1(few, many, long)), NOW)
    assert decoded.written.samples == 1
    refused = {"more than 5 labels": 1, "more than 100 characters of labels": 1}
    assert decoded.refusals.counts == refused


def test_another_replica_label_after_a_restart_is_obeyed() -> None:
    one, two = (rw.series("up", rw.sample(1, NOW), job=name, __replica__="a") for name in "xy")
    harness = DecoderHarness()
    decode(harness, one, two)
    for replica, labels in (("job", ("__name__", "__replica__")), ("", ("__name__", "__replica__", "job"))):  # fmt: skip
        harness.restart(replica=replica)
        for _ in range(2):
            decoded = harness.decode(Version.V1, rw.compressed(rw.request_v1(one, two)), NOW)
            found = rows_of(decoded.batch, harness.table)
            assert [tuple(name for name, _ in row[0]) for row in found] == [labels, labels]
            assert [row[1] for row in found] == (["x", "y"] if replica else ["", ""])


def test_numbers_that_were_lost_are_no_series() -> None:
    harness = DecoderHarness()
    decode(harness, series(0, 1))
    harness.table.skip_to(50)
    decode(harness, series(1, 1))
    harness.restart()
    assert decode(harness, series(0, 1), series(1, 1)) == [0, 50]
