"""What a request means: samples, identities, start times, and what is refused of it, in both versions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from support.remote_write import messages as rw
from support.remote_write.decoded import DecoderHarness, rows_of, things_of

from archive.remote_write.decoder import Version
from archive.remote_write.protobuf import MalformedError
from archive.remote_write.result import Decoded
from archive.settings.limits import Limits

NOW: Final = 1_794_800_000_000
VALUES: Final = {
    "one": rw.bits_of(1.0),
    "zero": 0,
    "minus zero": rw.bits_of(-0.0),
    "stale": rw.STALE,
    "quiet NaN": 0x7FF8000000000001,
    "NaN with a payload": 0xFFF00000DEADBEEF,
    "infinity": rw.bits_of(math.inf),
    "minus infinity": rw.bits_of(-math.inf),
    "smallest": 1,
}
Encode = Callable[..., bytes]
ENCODERS: Final[dict[Version, Encode]] = {Version.V1: rw.request_v1, Version.V2: rw.request_v2}
both = pytest.mark.parametrize("version", list(Version), ids=lambda version: version.value)


def decode(
    harness: DecoderHarness, version: Version, *series: rw.Series, now: int = NOW
) -> Decoded:
    return harness.decode(version, rw.compressed(ENCODERS[version](*series)), now)


def twice(version: Version, *series: rw.Series) -> tuple[DecoderHarness, Decoded]:
    """The second time most of it is known, and read by another way."""
    harness = DecoderHarness()
    first = decode(harness, version, *series)
    second = decode(harness, version, *series)
    assert sorted(rows_of(first.batch, harness.table)) == sorted(
        rows_of(second.batch, harness.table)
    )
    assert first.written == second.written
    assert first.refusals == second.refusals
    return harness, second


def times_and_bits(decoded: Decoded) -> list[tuple[int, int]]:
    return list(zip(decoded.batch.times.tolist(), decoded.batch.values.tolist(), strict=True))


# --- samples --------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("bits", VALUES.values(), ids=VALUES.keys())
def test_every_bit_of_a_value_is_kept(version: Version, bits: int) -> None:
    _, decoded = twice(
        version, rw.series("up", rw.Sample(NOW, bits)), rw.series("down", rw.sample(2, NOW))
    )
    assert sorted(times_and_bits(decoded)) == sorted([(NOW, bits), (NOW, rw.bits_of(2))])


@both
@pytest.mark.parametrize("time", [0, 1, 127, 128, 2**35 - 1, 2**35, NOW - 1, NOW, NOW + 600_000])
def test_times_of_every_length_are_read(version: Version, time: int) -> None:
    _, decoded = twice(
        version, rw.series("up", rw.sample(1, time)), rw.series("down", rw.sample(0, time))
    )
    assert sorted(times_and_bits(decoded)) == [(time, 0), (time, rw.bits_of(1))]


@both
def test_several_samples_of_a_series_are_all_taken(version: Version) -> None:
    samples = [rw.sample(value, NOW - value) for value in range(5)]
    _, decoded = twice(version, rw.series("up", *samples), rw.series("down", rw.sample(7, NOW)))
    assert decoded.written.samples == 6
    assert sorted(decoded.batch.times.tolist()) == [NOW - 4, NOW - 3, NOW - 2, NOW - 1, NOW, NOW]


@both
def test_a_request_changes_and_is_still_read_right(version: Version) -> None:
    """Values become zero and back, series come, go and change places between known ones."""
    harness = DecoderHarness()
    names = [f"metric_{place}" for place in range(40)]
    for repeat in range(12):
        order = names[repeat % 5 :: 2] + names[: repeat * 3]
        series = [
            rw.series(name, rw.sample((place + repeat) % 3, NOW + repeat))
            for place, name in enumerate(order)
        ]
        decoded = decode(harness, version, *series)
        expected = [
            (name, NOW + repeat, rw.bits_of((place + repeat) % 3))
            for place, name in enumerate(order)
        ]
        found = [(row[0][0][1], row[2], row[3]) for row in rows_of(decoded.batch, harness.table)]
        assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("size", [*range(95, 125), *range(16_340, 16_380)])
def test_label_sets_of_every_length_around_a_longer_header_are_read(size: int) -> None:
    """One byte more or less of labels moves the length of the series over 127 or 16,383."""
    harness = DecoderHarness()
    for value in (1.0, 0.0, 0.0, 2.0, 0.0, 3.0, 3.0):
        series = rw.series("m", rw.sample(value, NOW), long="x" * size)
        decoded = decode(harness, Version.V1, series, rw.series("n", rw.sample(4, NOW)))
        expected = [(NOW, rw.bits_of(value)), (NOW, rw.bits_of(4))]
        assert sorted(times_and_bits(decoded)) == sorted(expected)


# --- identity -------------------------------------------------------------------------------------


@both
def test_labels_in_any_order_are_one_series(version: Version) -> None:
    pairs = [("job", "a"), ("__name__", "up"), ("instance", "b")]
    series = [
        rw.Series(labels, [rw.sample(1, NOW)]) for labels in (pairs, pairs[::-1], sorted(pairs))
    ]
    harness, decoded = twice(version, *series)
    assert len(set(decoded.batch.series.tolist())) == 1
    known = harness.table.definition(int(decoded.batch.series[0]))
    assert known.labels == (("__name__", "up"), ("instance", "b"), ("job", "a"))
    assert known.replica == ""


@both
def test_a_label_without_a_value_is_no_label(version: Version) -> None:
    with_empty = rw.series("up", rw.sample(1, NOW), job="a", zone="")
    _, decoded = twice(version, with_empty, rw.series("up", rw.sample(2, NOW), job="a"))
    assert len(set(decoded.batch.series.tolist())) == 1


@both
def test_the_replica_label_leaves_the_identity(version: Version) -> None:
    series = [rw.series("up", rw.sample(1, NOW), job="a", __replica__=name) for name in "ab"]
    harness, decoded = twice(version, *series)
    first, second = (harness.table.definition(number) for number in decoded.batch.series.tolist())
    assert first.labels == second.labels == (("__name__", "up"), ("job", "a"))
    assert (first.replica, second.replica) == ("a", "b")


@both
def test_names_beyond_the_old_alphabet_are_taken(version: Version) -> None:
    labels = [("__name__", "resource cpu.usage"), ("job.name", "a\nb"), ("région", "🌍")]
    harness, decoded = twice(version, rw.Series(labels, [rw.sample(1, NOW)]))
    assert harness.table.definition(int(decoded.batch.series[0])).labels == tuple(sorted(labels))


# --- refusals: the series alone, never the rest ---------------------------------------------------

GOOD: Final = rw.series("good", rw.sample(1, NOW))
BAD: Final = {
    "no metric name": rw.Series([("job", "a")], [rw.sample(1, NOW)]),
    "no metric name at all": rw.Series([], [rw.sample(1, NOW)]),
    "an empty metric name": rw.Series([("__name__", "")], [rw.sample(1, NOW)]),
    "a label twice": rw.Series([("__name__", "up"), ("a", "1"), ("a", "2")], [rw.sample(1, NOW)]),
    "the same label twice": rw.Series([("__name__", "up"), ("a", "1"), ("a", "1")], [rw.sample(1, NOW)]),
    "a label without a name": rw.Series([("__name__", "up"), ("", "x")], [rw.sample(1, NOW)]),
    "too many labels": rw.series("up", rw.sample(1, NOW), **{f"l{n}": "x" for n in range(130)}),
    "labels too large": rw.series("up", rw.sample(1, NOW), big="x" * 40_000),
    "the far future": rw.series("up", rw.sample(1, NOW + 600_001)),
    "before 1970": rw.series("up", rw.sample(1, -1)),
    "the end of time": rw.series("up", rw.sample(1, 2**63 - 1)),
    "the beginning of time": rw.series("up", rw.sample(1, -(2**63))),
}  # fmt: skip


@both
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_bad_series_is_refused_and_the_good_ones_are_kept(
    version: Version, bad: rw.Series
) -> None:
    also_good = replace(GOOD, labels=[("__name__", "also_good")])
    harness, decoded = twice(version, GOOD, bad, also_good)
    assert [row[0][0][1] for row in rows_of(decoded.batch, harness.table)] == ["good", "also_good"]
    assert decoded.written.samples == 2
    assert sum(decoded.refusals.counts.values()) == 1


@both
def test_a_refusal_names_the_rule_and_the_first_series(version: Version) -> None:
    series = [rw.Series([("job", f"a{place}")], [rw.sample(1, NOW)]) for place in range(3)]
    late = rw.series("up", rw.sample(1, NOW + 10**9), job="x")
    _, decoded = twice(version, *series, late)
    text = str(decoded.refusals)
    assert '3 x no metric name (first: {job="a0"})' in text
    assert '1 x a time too far in the future (first: up{job="x"})' in text


@both
def test_a_label_that_is_not_utf_8_is_refused_and_the_rest_kept(version: Version) -> None:
    good = rw.series("good", rw.sample(1, NOW))
    bad = rw.series("bad", rw.sample(1, NOW), job="QQQQ")
    message = ENCODERS[version](good, bad).replace(b"QQQQ", b"Q\xff\xfeQ")
    harness = DecoderHarness()
    for _ in range(2):
        decoded = harness.decode(version, rw.compressed(message), NOW)
        assert decoded.written.samples == 1
        assert list(decoded.refusals.counts) == ["a text that is not UTF-8"]


@both
def test_only_as_many_new_series_as_may_live_are_taken_and_the_known_go_on(
    version: Version,
) -> None:
    harness = DecoderHarness(Limits(live_series=10))
    assert decode(harness, version, *rw.many(10, {}, NOW)).written.samples == 10
    population = rw.many(13, {}, NOW + 1)
    decoded = decode(harness, version, *population, now=NOW + 20_000)
    assert decoded.written.samples == 10
    assert decoded.refusals.counts == {"more than 10 live series (limits.live_series)": 3}
    # Two hours later no series is alive, so new ones are accepted.
    later = NOW + 3 * 3_600_000
    others = rw.many(10, {"zone": "new"}, later)
    assert decode(harness, version, *others, now=later).written.samples == 10


@both
def test_idle_series_are_forgotten_and_come_back_the_same(version: Version) -> None:
    harness = DecoderHarness()
    first = decode(harness, version, *rw.many(50, {}, NOW))
    later = NOW + 3 * 3_600_000
    decode(harness, version, *rw.many(5, {}, later), now=later)
    assert harness.decoder.remembered == 50
    assert harness.decoder.forget_unused(later) >= 45
    assert harness.decoder.remembered <= 5
    again = decode(harness, version, *rw.many(50, {}, later), now=later)
    assert again.batch.series.tolist() == first.batch.series.tolist()
    assert again.batch.values.tolist() == first.batch.values.tolist()


# --- whole requests -------------------------------------------------------------------------------


@both
def test_an_empty_request_is_one_without_samples(version: Version) -> None:
    decoded = DecoderHarness().decode(version, rw.compressed(b""), NOW)
    assert decoded.empty
    assert not decoded.refusals


@both
def test_the_other_version_is_not_taken_for_an_empty_request(version: Version) -> None:
    other = Version.V2 if version is Version.V1 else Version.V1
    with pytest.raises(
        MalformedError, match=f"version {other.value}, announced as {version.value}"
    ):
        DecoderHarness().decode(version, rw.compressed(ENCODERS[other](GOOD)), NOW)


@both
def test_a_field_of_a_later_version_is_skipped(version: Version) -> None:
    message = rw.length(99, b"new") + ENCODERS[version](GOOD) + rw.number(98, 7)
    assert DecoderHarness().decode(version, rw.compressed(message), NOW).written.samples == 1


@both
@pytest.mark.parametrize("limits", [Limits(series=5), Limits(samples=5)], ids=["series", "samples"])
def test_more_series_or_samples_than_allowed_are_malformed(
    version: Version, limits: Limits
) -> None:
    harness = DecoderHarness(limits)
    for _ in range(2):
        assert decode(harness, version, *rw.many(5, {}, NOW)).written.samples == 5
        with pytest.raises(MalformedError, match="holds more than 5"):
            decode(harness, version, *rw.many(6, {}, NOW))
    with pytest.raises(MalformedError, match="holds more than 5"):
        decode(harness, version, rw.series("up", *[rw.sample(1, NOW)] * 6), *rw.many(5, {}, NOW))


@both
def test_a_malformed_request_leaves_nothing_behind(version: Version) -> None:
    harness = DecoderHarness()
    decode(harness, version, GOOD)
    known = len(harness.table), harness.decoder.remembered
    message = ENCODERS[version](GOOD, *rw.many(5, {}, NOW))
    for cut in range(1, 20):
        with pytest.raises(MalformedError):
            harness.decode(version, rw.compressed(message[:-cut]), NOW)
    assert (len(harness.table), harness.decoder.remembered) == known


# --- 2.0 only -------------------------------------------------------------------------------------


def test_start_times_are_kept_with_their_samples() -> None:
    series = [
        rw.series("both", rw.sample(1, NOW, NOW - 5)),
        rw.series("zero", rw.sample(0, NOW, NOW - 6)),
        rw.series("none", rw.sample(2, NOW)),
        replace(rw.series("old", rw.sample(3, NOW)), created=NOW - 7),
    ]
    harness, decoded = twice(Version.V2, *series)
    found = {row[0][0][1]: row[4] for row in rows_of(decoded.batch, harness.table)}
    assert found == {"both": NOW - 5, "zero": NOW - 6, "none": 0, "old": NOW - 7}


def test_a_request_without_start_times_has_no_column_of_them() -> None:
    _, decoded = twice(Version.V2, GOOD)
    assert decoded.batch.starts is None


@pytest.mark.slow
def test_references_of_one_two_and_three_bytes_are_read() -> None:
    population = [
        rw.series("up", rw.sample(place, NOW), instance=f"host-{place}", job=f"job-{place % 9000}")
        for place in range(20_000)
    ]
    harness = DecoderHarness()
    for _ in range(2):
        decoded = decode(harness, Version.V2, *population)
        assert decoded.written.samples == len(population)
        found = {row[0][1][1]: row[3] for row in rows_of(decoded.batch, harness.table)}
        assert found == {f"host-{place}": rw.bits_of(place) for place in range(20_000)}


def raw_v2(symbols: list[bytes], *series: bytes) -> bytes:
    table = b"".join(rw.length(4, symbol) for symbol in symbols)
    return rw.compressed(table + b"".join(rw.length(5, each) for each in series))


@pytest.mark.parametrize(
    ("references", "reason"),
    [
        ([1, 2, 3], "references of labels that are not in pairs"),
        ([1, 9], "a reference to a symbol that the request does not have"),
        ([1, 2**31], "a reference to a symbol that the request does not have"),
        ([], "no metric name"),
    ],
)
def test_wrong_references_refuse_their_series_alone(references: list[int], reason: str) -> None:
    symbols = [b"", b"__name__", b"up", b"job"]
    sample = rw.length(2, rw.sample(1, NOW).encoded())
    packed = b"".join(map(rw.varint, references))
    good, bad = rw.length(1, b"\x01\x02") + sample, rw.length(1, packed) + sample
    harness = DecoderHarness()
    for _ in range(2):
        decoded = harness.decode(Version.V2, raw_v2(symbols, good, bad, good), NOW)
        assert decoded.written.samples == 2
        assert decoded.refusals.counts == {reason: 1}


def test_references_may_come_unpacked() -> None:
    sample = rw.length(2, rw.sample(1, NOW).encoded())
    body = raw_v2([b"", b"__name__", b"up"], b"\x08\x01\x08\x02" + sample)
    assert DecoderHarness().decode(Version.V2, body, NOW).written.samples == 1


def test_symbols_may_come_behind_the_series() -> None:
    sample = rw.length(2, rw.sample(1, NOW).encoded())
    series = rw.length(5, rw.length(1, b"\x01\x02") + sample)
    message = series + b"".join(rw.length(4, each) for each in (b"", b"__name__", b"up"))
    assert DecoderHarness().decode(Version.V2, rw.compressed(message), NOW).written.samples == 1


@pytest.mark.parametrize(
    ("series", "reason"),
    [
        (rw.Series([("__name__", "up")]), "a series without samples"),
        (
            rw.Series([("__name__", "up")], [rw.sample(1, NOW)], [rw.Histogram(NOW)]),
            "both samples and histograms in one series",
        ),
    ],
)
def test_a_series_is_of_samples_or_of_histograms(series: rw.Series, reason: str) -> None:
    _, decoded = twice(Version.V2, series, GOOD)
    assert list(decoded.refusals.counts) == [reason]
    assert decoded.written.samples == 1
    assert decoded.written.histograms == 0


def test_a_series_of_1_0_without_samples_is_no_error() -> None:
    _, decoded = twice(Version.V1, rw.series("up"), GOOD)
    assert not decoded.refusals
    assert things_of(decoded.batch, DecoderHarness().table) == []
