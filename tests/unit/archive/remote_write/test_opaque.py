"""What is kept as bytes: native histograms that hold together, exemplars, metadata when it is news."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
from support.remote_write import messages as rw
from support.remote_write.decoded import DecoderHarness, things_of

from archive.remote_write.decoder import Version
from archive.remote_write.result import Decoded

NOW: Final = 1_794_800_000_000
DAY: Final = 86_400_000
both = pytest.mark.parametrize("version", list(Version), ids=lambda version: version.value)


def decode(
    harness: DecoderHarness, version: Version, *series: rw.Series, now: int = NOW, **more: object
) -> Decoded:
    encode = rw.request_v1 if version is Version.V1 else rw.request_v2
    return harness.decode(version, rw.compressed(encode(*series, **more)), now)


# --- histograms -----------------------------------------------------------------------------------

PLAIN: Final = rw.Histogram(NOW, count=27, sum=1.5, zero=1, spans=[(0, 3), (2, 2)],
                            deltas=[1, 2, 1, 3, 1], negative_spans=[(0, 2)],
                            negative_deltas=[1, 1])  # fmt: skip
CUSTOM: Final = rw.Histogram(NOW, count=30, sum=9, schema=-53, spans=[(0, 6)],
                             deltas=[2, 1, 2, 3, -1, -2],
                             custom=[0.1, 0.5, 1, 2.5, 5, 10])  # fmt: skip
HOLD_TOGETHER: Final = {
    "of all kinds of buckets": PLAIN,
    "with custom buckets": CUSTOM,
    "with custom buckets up to infinity": replace(
        CUSTOM, count=31, spans=[(0, 7)], deltas=[2, 1, 2, 3, -1, -2, -4]
    ),
    "of the zero bucket alone": rw.Histogram(NOW, count=3, zero=3),
    "empty": rw.Histogram(NOW),
    "with observations of NaN, which are in no bucket": replace(PLAIN, count=30, sum=float("nan")),
    "of a schema that does not exist yet": replace(PLAIN, schema=12),
}
CONTRADICTORY: Final = {
    "a wrong count": (replace(PLAIN, count=99), "count is not that of its buckets"),
    "a count below its buckets": (replace(PLAIN, count=26, sum=float("nan")), "count is not"),
    "a bucket below zero": (replace(PLAIN, deltas=[1, 2, 1, 3, -9]), "bucket below zero"),
    "spans for more buckets": (replace(PLAIN, spans=[(0, 3), (2, 3)]), "spans do not fit"),
    "spans for fewer buckets": (replace(PLAIN, negative_spans=[]), "spans do not fit"),
    "spans that overlap": (replace(PLAIN, spans=[(0, 3), (-1, 2)]), "spans overlap"),
    "custom values that fall": (replace(CUSTOM, custom=[1, 2, 3, 4, 6, 5]), "do not rise"),
    "custom values up to infinity": (
        replace(CUSTOM, custom=[1, 2, 3, 4, 5, float("inf")]),
        "do not rise",
    ),
    "custom values too few": (replace(CUSTOM, custom=[1, 2, 3, 4]), "more custom buckets"),
    "custom buckets beside others": (replace(CUSTOM, zero=1, count=31), "others beside them"),
    "custom values without custom buckets": (replace(CUSTOM, schema=0), "another schema"),
}


@both
@pytest.mark.parametrize("histogram", HOLD_TOGETHER.values(), ids=HOLD_TOGETHER.keys())
def test_a_histogram_that_holds_together_is_kept_byte_by_byte(
    version: Version, histogram: rw.Histogram
) -> None:
    harness = DecoderHarness()
    decoded = decode(harness, version, rw.Series([("__name__", "h")], histograms=[histogram]))
    assert not decoded.refusals
    assert decoded.written.histograms == 1
    labels = (("__name__", "h"),)
    assert things_of(decoded.batch, harness.table) == [
        ("HISTOGRAM", labels, NOW, histogram.encoded())
    ]


@both
@pytest.mark.parametrize(("histogram", "reason"), CONTRADICTORY.values(), ids=CONTRADICTORY.keys())
def test_a_histogram_that_contradicts_itself_is_refused_alone(
    version: Version, histogram: rw.Histogram, reason: str
) -> None:
    series = rw.Series([("__name__", "h")], histograms=[PLAIN, histogram])
    decoded = decode(DecoderHarness(), version, series, rw.series("up", rw.sample(1, NOW)))
    assert (decoded.written.samples, decoded.written.histograms) == (1, 1)
    (reported,) = decoded.refusals.counts
    assert reason in reported


def float_histogram(count: float, buckets: list[float]) -> bytes:
    """In floating point, the buckets one by one as an old writer would."""
    return (
        rw.bits(2, rw.bits_of(count))
        + rw.bits(7, rw.bits_of(0.5))
        + rw.length(11, b"\x10" + rw.varint(len(buckets)))
        + b"".join(rw.bits(13, rw.bits_of(bucket)) for bucket in buckets)
        + rw.number(15, NOW)
    )


@pytest.mark.parametrize(
    ("count", "buckets", "kept"),
    [(6.5, [1.5, 4.5], 1), (6.6, [1.5, 4.5], 1), (6.5, [1.5, -4.5], 0), (6.5, [float("nan")], 0)],
)
def test_counts_in_floating_point_may_be_off_but_not_negative(
    count: float, buckets: list[float], kept: int
) -> None:
    series = rw.length(1, rw.label(("__name__", "h")))
    message = rw.length(1, series + rw.length(4, float_histogram(count, buckets)))
    decoded = DecoderHarness().decode(Version.V1, rw.compressed(message), NOW)
    assert decoded.written.histograms == kept


@both
def test_a_histogram_of_the_far_future_is_refused(version: Version) -> None:
    far = replace(PLAIN, time=NOW + 10**9)
    decoded = decode(DecoderHarness(), version, rw.Series([("__name__", "h")], histograms=[far]))
    assert decoded.written.histograms == 0
    assert list(decoded.refusals.counts) == ["a time too far in the future"]


# --- exemplars ------------------------------------------------------------------------------------


@both
def test_exemplars_are_kept_in_one_form_whatever_the_version(version: Version) -> None:
    exemplar = rw.Exemplar(NOW, 0.25, [("span_id", "s1"), ("trace_id", "abc")])
    harness = DecoderHarness()
    series = rw.Series([("__name__", "up")], [rw.sample(1, NOW)], exemplars=[exemplar])
    decoded = decode(harness, version, series)
    assert (decoded.written.samples, decoded.written.exemplars) == (1, 1)
    labels = (("__name__", "up"),)
    assert things_of(decoded.batch, harness.table) == [
        ("EXEMPLAR", labels, NOW, exemplar.encoded_v1())
    ]


@both
def test_exemplars_without_samples_are_kept(version: Version) -> None:
    """Prometheus itself sends them so."""
    series = rw.Series([("__name__", "up")], exemplars=[rw.Exemplar(NOW, 1, [("trace_id", "x")])])
    decoded = decode(DecoderHarness(), version, series)
    assert decoded.written.exemplars == 1
    assert not decoded.refusals


@both
def test_an_exemplar_that_is_not_utf_8_is_refused_and_its_sample_kept(version: Version) -> None:
    exemplar = rw.Exemplar(NOW, 1, [("trace_id", "QQQQ")])
    series = rw.Series([("__name__", "up")], [rw.sample(1, NOW)], exemplars=[exemplar])
    encode = rw.request_v1 if version is Version.V1 else rw.request_v2
    body = rw.compressed(encode(series).replace(b"QQQQ", b"QQ\xff\xff"))
    decoded = DecoderHarness().decode(version, body, NOW)
    assert (decoded.written.samples, decoded.written.exemplars) == (1, 0)
    assert decoded.refusals.counts == {"a text that is not UTF-8": 1}


# --- metadata -------------------------------------------------------------------------------------

COUNTER: Final = rw.Metadata(type=1, help="How many.", unit="requests")
NAMED: Final = replace(COUNTER, family="http_requests")


def reported(decoded: Decoded) -> list[bytes]:
    return [each.data for each in decoded.batch.opaque]


def test_metadata_of_1_0_is_kept_when_it_is_new() -> None:
    harness = DecoderHarness()
    assert reported(decode(harness, Version.V1, metadata=[NAMED])) == [NAMED.encoded_v1()]
    assert reported(decode(harness, Version.V1, metadata=[NAMED])) == []
    changed = replace(NAMED, help="How many so far.")
    assert reported(decode(harness, Version.V1, metadata=[changed])) == [changed.encoded_v1()]
    assert reported(decode(harness, Version.V1, metadata=[changed], now=NOW + DAY)) != []


def test_metadata_of_2_0_is_kept_for_each_series_when_it_is_new() -> None:
    harness = DecoderHarness()

    def send(metadata: rw.Metadata, now: int = NOW) -> Decoded:
        series = [replace(each, metadata=metadata) for each in rw.many(3, {}, now)]
        return decode(harness, Version.V2, *series, now=now)

    expected = COUNTER.encoded_v1()
    assert reported(send(COUNTER)) == [expected] * 3
    assert reported(send(COUNTER)) == []
    changed = replace(COUNTER, help="How many so far.")
    assert reported(send(changed)) == [changed.encoded_v1()] * 3
    assert reported(send(changed)) == []
    assert reported(send(changed, NOW + DAY)) == [changed.encoded_v1()] * 3
    assert reported(send(changed, NOW + DAY)) == []
    harness.decoder.forget_metadata()  # the request could not be stored
    assert reported(send(changed, NOW + DAY)) == [changed.encoded_v1()] * 3


def test_metadata_of_2_0_alone_is_kept() -> None:
    series = rw.Series([("__name__", "up")], metadata=COUNTER)
    decoded = decode(DecoderHarness(), Version.V2, series)
    assert reported(decoded) == [COUNTER.encoded_v1()]
    assert not decoded.refusals


def test_metadata_with_references_beyond_the_symbols_is_refused_and_the_samples_kept() -> None:
    sample = rw.length(2, rw.sample(1, NOW).encoded())
    metadata = rw.length(5, rw.number(1, 1) + rw.number(3, 77))
    series = rw.length(5, rw.length(1, b"\x01\x02") + sample + metadata)
    symbols = b"".join(rw.length(4, each) for each in (b"", b"__name__", b"up"))
    harness = DecoderHarness()
    for _ in range(2):
        decoded = harness.decode(Version.V2, rw.compressed(symbols + series), NOW)
        assert decoded.written.samples == 1
        assert decoded.refusals.counts == {
            "a reference to a symbol that the request does not have": 1
        }
