"""For any bytes the cached decoders agree with the field-by-field ones, or report malformed.

A decoder that knows the series already is given requests that were changed anywhere, so that what
it predicts is wrong in every possible way.
"""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.nats.servers import long_run
from support.remote_write import messages as rw
from support.remote_write.decoded import DecoderHarness

from archive.remote_write.decoder import Version
from archive.remote_write.label_reader import LabelReader, read_label
from archive.remote_write.protobuf import MalformedError
from archive.series.labels import RefusedError
from archive.settings.limits import Limits

NOW: Final = 1_794_800_000_000
LIMITS: Final = Limits(labels=6, series=40, samples=60)
EXAMPLES: Final = 5_000 if long_run() else 150

texts = st.sampled_from(["", "a", "b", "job", "up", "x" * 60, "y" * 115, "é", "__name__"])
names = st.sampled_from(["__name__", "__name__", "job", "instance", "__replica__", ""])
labels = st.lists(st.tuples(names, texts), max_size=5).map(
    lambda pairs: [("__name__", "up"), *pairs] if len(pairs) % 3 else pairs
)
times = st.one_of(
    st.just(NOW), st.integers(NOW - 9, NOW + 9), st.sampled_from([0, -1, 2**40, 2**42, 2**63 - 1])
)
bits = st.one_of(
    st.sampled_from([0, rw.STALE, rw.bits_of(1.0), rw.bits_of(-0.0)]), st.integers(0, 2**64 - 1)
)
samples = st.builds(rw.Sample, times, bits, st.sampled_from([0, 0, 0, NOW - 5, 1]))
histograms = st.builds(
    rw.Histogram, times, count=st.sampled_from([0, 3, 4]), zero=st.sampled_from([0, 3])
)
exemplars = st.builds(
    rw.Exemplar, times, st.floats(), st.lists(st.tuples(texts, texts), max_size=2)
)
metadata = st.builds(rw.Metadata, st.integers(0, 7), texts, texts, texts)
plain = st.builds(rw.Series, labels, st.lists(samples, min_size=1, max_size=1))
with_metadata = st.builds(
    rw.Series, labels, st.lists(samples, min_size=1, max_size=1), metadata=metadata
)
anything = st.builds(
    rw.Series,
    labels,
    st.lists(samples, max_size=3),
    st.lists(histograms, max_size=2),
    st.lists(exemplars, max_size=2),
    st.one_of(st.none(), metadata),
    st.sampled_from([0, 0, NOW - 7]),
)
series = st.one_of(plain, plain, plain, with_metadata, anything)
requests = st.lists(series, max_size=8)


@st.composite
def changes(draw: st.DrawFn, message: bytes) -> bytes:
    """The message with a few bytes changed, cut, doubled or moved."""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(message)))
        how = draw(st.sampled_from(["set", "cut", "insert", "end", "double"]))
        if how == "set":
            message = message[:at] + bytes([draw(st.integers(0, 255))]) + message[at + 1 :]
        elif how == "cut":
            message = message[:at] + message[at + draw(st.integers(1, 20)) :]
        elif how == "insert":
            message = message[:at] + draw(st.binary(max_size=12)) + message[at:]
        elif how == "end":
            message = message[:at]
        else:
            message = message[:at] + message[max(0, at - draw(st.integers(1, 40))) :]
    return message


def encode(version: Version, request: list[rw.Series]) -> bytes:
    return rw.request_v1(*request) if version is Version.V1 else rw.request_v2(*request)


@pytest.mark.timeout(900)  # thousands of examples in the long run
@settings(
    max_examples=examples(EXAMPLES), suppress_health_check=[HealthCheck.too_slow], deadline=None
)
@given(st.sampled_from(list(Version)), st.lists(requests, min_size=1, max_size=3), st.data())
def test_a_decoder_with_caches_agrees_with_one_that_reads_everything(
    version: Version, sent: list[list[rw.Series]], data: st.DataObject
) -> None:
    harness = DecoderHarness(LIMITS)
    for request in (*sent, *sent):
        message = encode(version, request)
        if data.draw(st.booleans()):
            message = data.draw(changes(message))
        harness.decoder.forget_metadata()  # so that all of it is news, as it is for the slow one
        expected = harness.slow_outcome(version, message, NOW)
        assert harness.outcome(version, rw.compressed(message), NOW) == expected


@pytest.mark.timeout(900)  # thousands of examples in the long run
@settings(
    max_examples=examples(EXAMPLES), suppress_health_check=[HealthCheck.too_slow], deadline=None
)
@given(st.sampled_from(list(Version)), requests)
def test_a_request_brings_exactly_what_was_written(
    version: Version, request: list[rw.Series]
) -> None:
    """By the test's own understanding of the rules, not by any reader of ours."""
    message = encode(version, request)
    harness = DecoderHarness()
    for _ in range(2):
        outcome = harness.outcome(version, rw.compressed(message), NOW)
        found = {(row[0], row[1], row[2], row[3], row[4]): count for row, count in outcome.rows}
        assert found == expected_rows(version, request)


def expected_rows(version: Version, request: list[rw.Series]) -> dict[object, int]:
    rows: dict[object, int] = {}
    for each in request:
        given_labels = dict(each.labels)
        replica = given_labels.pop("__replica__", "")
        wrong = len(dict(each.labels)) < len(each.labels) or "" in given_labels
        wrong |= not given_labels.get("__name__")
        wrong |= version is Version.V2 and bool(each.samples and each.histograms)
        if wrong:
            continue
        identity = tuple(sorted((name, text) for name, text in given_labels.items() if text))
        for one in each.samples:
            if 0 <= one.time <= NOW + 600_000:
                created = each.created if version is Version.V2 else 0
                row = (identity, replica, one.time, one.bits, one.start or created)
                rows[row] = rows.get(row, 0) + 1
    return rows


shared = st.lists(st.tuples(names, texts), max_size=4).map(sorted)
first_labels = st.tuples(st.sampled_from(["__name__", "__name__", "A", "__replica__", ""]), texts)


@pytest.mark.timeout(900)  # thousands of examples in the long run
@settings(max_examples=examples(EXAMPLES), deadline=None)
@given(
    st.lists(shared, min_size=1, max_size=3),
    st.lists(first_labels, min_size=1, max_size=4),
    st.sampled_from([0, rw.bits_of(1.0)]),
)
def test_series_that_share_all_labels_but_the_first_agree_too(
    others: list[list[tuple[str, str]]], firsts: list[tuple[str, str]], value: int
) -> None:
    harness = DecoderHarness(LIMITS)
    for each in (others, others[::-1]):
        made = [rw.Series([one, *rest], [rw.Sample(NOW, value)]) for rest in each for one in firsts]
        message = rw.request_v1(*made)
        expected = harness.slow_outcome(Version.V1, message, NOW)
        assert harness.outcome(Version.V1, rw.compressed(message), NOW) == expected


@settings(max_examples=examples(500), deadline=None)
@given(st.one_of(st.binary(max_size=300), st.builds(rw.label, st.tuples(st.text(), st.text()))))
def test_a_short_label_is_read_like_any_other(message: bytes) -> None:
    """Every label of a request takes this way once."""
    try:
        expected: object = read_label(message, 0, len(message))
    except (MalformedError, RefusedError, IndexError) as error:
        expected = type(error)
    try:
        found: object = LabelReader().read(b"\x0a" + rw.varint(len(message)) + message, 9)[0]
    except (MalformedError, RefusedError, IndexError) as error:
        found = type(error)
    assert found == expected


@pytest.mark.timeout(900)  # thousands of examples in the long run
@settings(max_examples=examples(EXAMPLES), deadline=None)
@given(st.sampled_from(list(Version)), st.binary(max_size=400))
def test_any_message_is_read_or_malformed(version: Version, message: bytes) -> None:
    harness = DecoderHarness(LIMITS)
    expected = harness.slow_outcome(version, message, NOW)
    assert harness.outcome(version, rw.compressed(message), NOW) == expected
    harness.outcome(version, message, NOW)  # as a body it is hardly ever snappy, and never a crash
