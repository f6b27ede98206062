"""The cases of the public receiver compliance tests for remote write 2.0, held to exact responses.

They often accept a 400 or a success; here each case has one right response and exact counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
from support.remote_write import messages as rw
from support.remote_write.endpoint import WRITTEN, Endpoint, open_endpoint

from archive.settings.limits import Limits

NOW: Final = time.time_ns() // 1_000_000
HOUR: Final = 3_600_000
VALUES: Final = {
    "1.0": rw.bits_of(1.0),
    "stale": rw.STALE,
    "NaN": 0x7FF8000000000001,
    "Inf": rw.bits_of(math.inf),
    "-Inf": rw.bits_of(-math.inf),
}
BUCKETS: Final = {"spans": [(0, 3), (2, 2)], "deltas": [1, 2, 1, 3, 1]}
NEGATIVE: Final = {"negative_spans": [(0, 2)], "negative_deltas": [1, 1]}
CUSTOM: Final = rw.Histogram(NOW, count=30, sum=1, schema=-53, spans=[(0, 6)],
                             deltas=[2, 1, 2, 3, -1, -2],
                             custom=[0.1, 0.5, 1, 2.5, 5, 10])  # fmt: skip
FULL: Final = rw.Histogram(NOW, count=27, sum=1, zero=1, **BUCKETS, **NEGATIVE)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    series: Sequence[rw.Series]
    samples: int = 0
    histograms: int = 0
    exemplars: int = 0
    code: int = 204


def named(name: str, bits: int = rw.bits_of(1.0), **labels: str) -> rw.Series:
    return rw.Series([("__name__", name), *labels.items()], [rw.Sample(NOW, bits)])


def histogram(name: str, each: rw.Histogram = FULL, **labels: str) -> rw.Series:
    return rw.Series([("__name__", name), *labels.items()], histograms=[each])


def exemplar(value: float = 1.0, time: int = NOW, **labels: str) -> rw.Exemplar:
    return rw.Exemplar(time, value, list(labels.items()))


def nameless(**labels: str) -> rw.Series:
    return rw.Series(list(labels.items()), [rw.sample(1, NOW)])


UP: Final = named("up")
KINDS: Final = ("unspecified", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset")  # fmt: skip
CASES: Final = {
    "several labels, not sorted": Case([named("up", job="test", instance="localhost:9090")], 1),
    "newlines in a label": Case([named("up", job="test\njob\n")], 1),
    "dots in names": Case([named("resource.cpu.usage", **{"job.name": "x"})], 1),
    "spaces in names": Case([named("resource cpu usage", **{"job name": "x"})], 1),
    "no metric name": Case([nameless(job="x", instance="y")], code=400),
    "no labels at all": Case([nameless()], code=400),
    "an empty metric name": Case([rw.Series([("__name__", "")], [rw.sample(1, NOW)])], code=400),
    "several metrics": Case([named("up", instance=f"{n}") for n in range(4)], 4),
    "all of them without a name": Case([nameless(instance=f"{n}") for n in range(4)], code=400),
    "one of them without a name": Case([nameless(job="x"), *[named(f"m{n}") for n in range(3)]], 3, code=400),
    "a created timestamp": Case([replace(named("http_requests_total"), created=NOW - HOUR)], 1),
    "a start timestamp": Case([rw.series("http_requests_total", rw.sample(1, NOW, NOW - HOUR))], 1),
    # histograms
    "a histogram of all buckets": Case([histogram("h")], histograms=1),
    "custom buckets": Case([histogram("h", CUSTOM)], histograms=1),
    "positive buckets only": Case([histogram("h", rw.Histogram(NOW, count=24, zero=1, **BUCKETS), job="x")], histograms=1),  # type: ignore[arg-type]
    "negative buckets only": Case([histogram("h", rw.Histogram(NOW, count=3, **NEGATIVE))], histograms=1),  # type: ignore[arg-type]
    "the zero bucket only": Case([histogram("h", rw.Histogram(NOW, count=1, zero=1))], histograms=1),
    "an empty histogram": Case([histogram("h", rw.Histogram(NOW))], histograms=1),
    "a wrong count": Case([histogram("h", replace(FULL, count=99))], code=400),
    "two histograms": Case([histogram("h1"), histogram("h2")], histograms=2),
    "a histogram with a created timestamp": Case([replace(histogram("h"), created=NOW - HOUR // 2)], histograms=1),
    "a histogram with an exemplar": Case([replace(histogram("h"), exemplars=[exemplar(trace_id="a")])], histograms=1, exemplars=1),
    "fifty histograms with all that belongs to them": Case(
        [replace(histogram(f"h{n}"), exemplars=[exemplar(trace_id=f"{n}")], metadata=rw.Metadata(3, f"help {n}", "s")) for n in range(50)],
        histograms=50, exemplars=50),
    # exemplars
    "an exemplar": Case([replace(UP, exemplars=[exemplar(trace_id="abc123def456")])], 1, exemplars=1),
    "an exemplar with a span": Case([replace(UP, exemplars=[exemplar(trace_id="a", span_id="b")])], 1, exemplars=1),
    "an exemplar without labels": Case([replace(UP, exemplars=[exemplar()])], 1, exemplars=1),
    "an exemplar in unicode": Case([replace(named("u", region="🌍"), exemplars=[exemplar(trace_id="测试")])], 1, exemplars=1),
    "exemplars of other times": Case(
        [replace(named("m", n=f"{age}"), exemplars=[exemplar(time=NOW - age)]) for age in (0, 60_000, HOUR)], 3, exemplars=3),
    "an exemplar of a series without a name": Case([replace(nameless(job="x"), exemplars=[exemplar()])], code=400),
    "exemplars without samples": Case([rw.Series([("__name__", "orphan")], exemplars=[exemplar(trace_id="a")])], exemplars=1),
    # metadata
    **{f"metadata of type {kind}": Case([replace(named(f"m_{kind}"), metadata=rw.Metadata(n, "Help.", "unit"))], 1)
       for n, kind in enumerate(KINDS)},
    "metadata without help and unit": Case([replace(UP, metadata=rw.Metadata(1))], 1),
    "metadata with newlines and quotes": Case([replace(UP, metadata=rw.Metadata(2, 'a\nb "c"', "bytes/sec"))], 1),
    "metadata without samples": Case([rw.Series([("__name__", "orphan")], metadata=rw.Metadata(1, "Help.", "count"))]),
    "metadata of a series without a name": Case([replace(nameless(job="x"), metadata=rw.Metadata(1, "Help."))], code=400),
    # all together
    "samples, metadata and exemplars": Case(
        [replace(UP, metadata=rw.Metadata(1, "Help."), exemplars=[exemplar(trace_id="a")]), replace(named("m"), metadata=rw.Metadata(2, "Other."))], 2, exemplars=1),
    "samples of different ages": Case([rw.series("old", rw.sample(1, NOW - HOUR)), UP], 2),
    "fifty samples with all that belongs to them": Case(
        [replace(named(f"m{n}", series=f"s{n}"), exemplars=[exemplar(trace_id=f"{n}")], metadata=rw.Metadata(1, f"help {n}", "count")) for n in range(50)],
        50, exemplars=50),
    "special characters everywhere": Case(
        [replace(named("m", job="a-b_c.d@e", environment="test🚀"), metadata=rw.Metadata(2, 'äöü\n"quotes"', "special/units"), exemplars=[exemplar(trace_id="x-y_z.1")])], 1, exemplars=1),
}  # fmt: skip


@pytest.fixture
async def endpoint(tmp_path: Path) -> AsyncIterator[Endpoint]:
    async with open_endpoint(tmp_path, Limits()) as opened:
        yield opened


async def check(endpoint: Endpoint, case: Case) -> None:
    """Twice: the second time the series are known."""
    message = rw.request_v2(*case.series)
    for _ in range(2):
        response = await endpoint.post(message, rw.V2)
        assert response.status == case.code, await response.text()
        written = [int(response.headers[name]) for name in WRITTEN]
        assert written == [case.samples, case.histograms, case.exemplars]
    assert endpoint.log.samples == 2 * case.samples


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_case_of_the_compliance_tests(endpoint: Endpoint, case: Case) -> None:
    await check(endpoint, case)


@pytest.mark.parametrize("bits", VALUES.values(), ids=VALUES.keys())
async def test_special_values_of_samples_and_exemplars(endpoint: Endpoint, bits: int) -> None:
    value = rw.value_of(bits)
    series = [named("a", bits, job="x"), replace(named("b", bits), exemplars=[exemplar(value)])]
    await check(endpoint, Case(series, 2, exemplars=1))


async def test_1_0_is_still_understood_and_gets_no_written_headers(endpoint: Endpoint) -> None:
    series = [named("up", job="testjob", instance="x"), named("http_requests_total")]
    response = await endpoint.post(rw.request_v1(*series))
    assert response.status == 204
    assert not [name for name in WRITTEN if name in response.headers]
    broken = b"\xff" + rw.compressed(rw.request_v1(*series))[1:]
    assert (await endpoint.post_body(broken)).status == 400
