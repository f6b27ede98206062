"""The response to each request: code, headers, and what is stored, counted and quarantined."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from aiohttp.test_utils import TestClient, TestServer
from support.remote_write import messages as rw
from support.remote_write.endpoint import WRITTEN, Endpoint, MemoryLog, open_endpoint, request_of

from archive.http.app import WRITE_PATH, make_app
from archive.http.auth import Access, BearerTokens
from archive.http.write_endpoint import WriteEndpoint
from archive.ingest.quarantine import Quarantine
from archive.ingest.receiver import Receiver
from archive.remote_write.decoder import Decoder
from archive.self_metrics import ReceiverCounters, SelfMetrics
from archive.series.table import SeriesTable
from archive.settings.limits import Limits
from archive.settings.quarantine import QuarantineSettings
from archive.wal.errors import WalUnavailableError
from streamgauge.serving.web.live_config import LiveWebConfig

NOTHING_KEPT: Final = QuarantineSettings(size=0)
LIMITS: Final = Limits(body=50_000, decoded=400_000, waiting=1 << 20)
both = pytest.mark.parametrize("version", [rw.V1, rw.V2], ids=["1.0", "2.0"])


def now() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
async def endpoint(tmp_path: Path) -> AsyncIterator[Endpoint]:
    async with open_endpoint(tmp_path / "quarantine", LIMITS) as opened:
        yield opened


def good(count: int = 1) -> list[rw.Series]:
    return rw.many(count, {}, now())


# --- success --------------------------------------------------------------------------------------


async def test_1_0_gets_204_without_a_body_and_without_written_headers(endpoint: Endpoint) -> None:
    response = await endpoint.post(rw.request_v1(*good(3)))
    assert (response.status, await response.read()) == (204, b"")
    assert not [name for name in WRITTEN if name in response.headers]
    assert endpoint.log.samples == 3


async def test_2_0_gets_204_with_what_was_written(endpoint: Endpoint) -> None:
    exemplars = [rw.Exemplar(now(), 1, [("trace_id", "a")])] * 2
    series = [
        *good(3),
        rw.Series([("__name__", "h")], histograms=[rw.Histogram(now())], exemplars=exemplars),
    ]
    response = await endpoint.post(rw.request_v2(*series), rw.V2)
    assert (response.status, await response.read()) == (204, b"")
    assert [response.headers[name] for name in WRITTEN] == ["3", "1", "2"]


@both
async def test_the_response_waits_until_the_samples_are_durable(
    endpoint: Endpoint, version: str
) -> None:
    endpoint.log.gate.clear()
    appending = asyncio.create_task(endpoint.post(request_of(version, *good()), version))
    await endpoint.log.appending.wait()
    assert not appending.done()
    endpoint.log.gate.set()
    assert (await appending).status == 204


@both
async def test_an_empty_request_is_a_success_that_writes_nothing(
    endpoint: Endpoint, version: str
) -> None:
    response = await endpoint.post(b"", version)
    assert response.status == 204
    assert endpoint.log.batches == []


async def test_what_came_is_counted(endpoint: Endpoint) -> None:
    at = now()
    bodies = [rw.compressed(rw.request_v1(*rw.many(4, {}, at + repeat))) for repeat in (5, 0)]
    for body in bodies:
        await endpoint.post_body(body)
    assert await endpoint.metric("samples_total") == 8
    assert await endpoint.metric("received_bytes_total") == sum(map(len, bodies))
    assert await endpoint.metric("requests_total", code="204") == 2
    newest = await endpoint.metric("newest_sample_timestamp_seconds", sender="127.0.0.1")
    assert newest == pytest.approx((at + 5) / 1000)
    assert endpoint.log.batches[0].sender == "127.0.0.1"
    assert at <= endpoint.log.batches[0].received <= now()


# --- negotiation ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "written"),
    [
        ("application/x-protobuf", 0),
        ("application/x-protobuf;proto=prometheus.WriteRequest", 0),
        ("Application/X-Protobuf; proto=prometheus.WriteRequest", 0),
        ("application/x-protobuf;proto=io.prometheus.write.v2.Request", 3),
        ('application/x-protobuf; charset=utf-8; proto="io.prometheus.write.v2.Request"', 3),
    ],
)
async def test_the_content_type_says_the_version(
    endpoint: Endpoint, content_type: str, written: int
) -> None:
    version = rw.V2 if written else rw.V1
    response = await endpoint.post(request_of(version, *good()), version, Content_Type=content_type)
    assert response.status == 204
    assert len([name for name in WRITTEN if name in response.headers]) == written


@pytest.mark.parametrize(
    "headers",
    [
        {"Content_Type": "application/json"},
        {"Content_Type": "image/png"},
        {"Content_Type": "application/x-protobuf;proto=io.prometheus.write.v3.Request"},
        {"Content_Encoding": "gzip"},
        {"Content_Encoding": "deflate"},
        {"Content_Encoding": "zstd"},
        {"Content_Encoding": "snappy, gzip"},
    ],
    ids=str,
)
async def test_another_type_or_encoding_is_415_so_that_the_sender_can_fall_back(
    endpoint: Endpoint, headers: dict[str, str]
) -> None:
    response = await endpoint.post(rw.request_v1(*good()), **headers)
    assert response.status == 415
    assert (await response.text()).count("\n") == 1
    assert endpoint.log.batches == []
    assert await endpoint.put_aside() == []


async def test_only_post_writes(endpoint: Endpoint) -> None:
    response = await endpoint.client.get(WRITE_PATH)
    assert response.status == 405


# --- what can never succeed -----------------------------------------------------------------------

HOSTILE: Final = {
    "an empty body": b"",
    "no snappy": b"hello, this is not snappy at all",
    "a corrupt block": b"0" + rw.compressed(b"hello, hello, hello, hello")[1:],
    "no protobuf": rw.compressed(b"\xff" * 50),
    "a cut message": rw.compressed(rw.request_v1(rw.series("up", rw.sample(1, 1)))[:-3]),
    "a bomb": rw.compressed(bytes(400_001)),
    "a bomb that lies about its size": b"\x0a" + rw.compressed(bytes(300_000))[3:],
    "a length of 2^63": rw.compressed(b"\x0a" + rw.varint(2**63)),
    "a label of 2^40 bytes": rw.compressed(b"\x0a\x08\x0a" + rw.varint(2**40)),
}


@both
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
async def test_an_invalid_request_is_400_with_a_reason_and_is_quarantined(
    endpoint: Endpoint, body: bytes, version: str
) -> None:
    response = await endpoint.post_body(body, version)
    reason = (await response.text()).strip()
    assert response.status == 400
    assert reason
    assert "\n" not in reason
    assert endpoint.log.batches == []
    if version == rw.V2:
        assert [response.headers[name] for name in WRITTEN] == ["0", "0", "0"]
    ((facts, kept),) = await endpoint.put_aside()
    assert (facts["reason"], facts["sender"], facts["bytes"]) == (reason, "127.0.0.1", len(body))
    assert kept == body
    assert await endpoint.metric("requests_total", code="400") == 1


@both
async def test_a_bad_sample_among_good_ones_is_400_and_the_good_ones_are_kept(
    endpoint: Endpoint, version: str
) -> None:
    bad = rw.Series([("job", "nameless")], [rw.sample(1, now())])
    response = await endpoint.post(request_of(version, *good(3), bad), version)
    assert response.status == 400
    assert await response.text() == 'refused 1 x no metric name (first: {job="nameless"})\n'
    assert endpoint.log.samples == 3
    if version == rw.V2:
        assert [response.headers[name] for name in WRITTEN] == ["3", "0", "0"]
    assert len(await endpoint.put_aside()) == 1


@both
async def test_a_body_over_the_limit_is_400_and_not_read(endpoint: Endpoint, version: str) -> None:
    response = await endpoint.post_body(bytes(LIMITS.body + 1), version)
    assert response.status == 400
    assert await response.text() == f"the body is larger than {LIMITS.body} bytes\n"


async def test_a_body_over_the_limit_that_hides_its_size_is_400_too(endpoint: Endpoint) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(60):
            yield bytes(1000)

    response = await endpoint.client.post(WRITE_PATH, data=chunks(), headers=rw.headers())
    assert response.status == 400


async def test_a_request_with_a_million_labels_is_400_in_bounded_memory(tmp_path: Path) -> None:
    label = rw.length(1, rw.label(("a", "")))
    million = rw.length(1, label * 1_000_000 + rw.length(2, rw.sample(1, now()).encoded()))
    async with open_endpoint(tmp_path, Limits()) as endpoint:
        response = await endpoint.post(million)
        assert response.status == 400
        assert "more than 128 labels" in await response.text()


# --- our own trouble: always 503, never 429 -------------------------------------------------------


@both
@pytest.mark.parametrize("error", [WalUnavailableError("no space left"), ValueError("a bug")])
async def test_an_unavailable_log_is_503(
    endpoint: Endpoint, version: str, error: Exception
) -> None:
    endpoint.log.error = error
    message = request_of(version, *good(2))
    response = await endpoint.post(message, version)
    assert response.status == 503
    assert int(response.headers["Retry-After"]) > 0
    if version == rw.V2:
        assert [response.headers[name] for name in WRITTEN] == ["0", "0", "0"]
    assert await endpoint.metric("samples_total") == 0
    endpoint.log.error = None
    assert (await endpoint.post(message, version)).status == 204
    assert endpoint.log.samples == 2


async def test_metadata_that_could_not_be_stored_is_taken_when_it_comes_again(
    endpoint: Endpoint,
) -> None:
    metadata = [rw.Metadata(family="up", type=2, help="Whether it is up.")]
    message = rw.request_v1(metadata=metadata)
    endpoint.log.error = WalUnavailableError("no space left")
    assert (await endpoint.post(message)).status == 503
    endpoint.log.error = None
    assert (await endpoint.post(message)).status == 204
    (batch,) = endpoint.log.batches
    assert [each.data for each in batch.opaque] == [metadata[0].encoded_v1()]


async def test_more_than_may_wait_together_is_503(tmp_path: Path) -> None:
    body = rw.compressed(rw.request_v1(*good()))

    async def chunks() -> AsyncIterator[bytes]:
        yield body  # without a Content-Length

    async with open_endpoint(tmp_path, Limits(body=700_000, waiting=1 << 20)) as endpoint:
        client, log = endpoint.client, endpoint.log
        log.gate.clear()
        first = asyncio.create_task(client.post(WRITE_PATH, data=chunks(), headers=rw.headers()))
        await log.appending.wait()
        second = await client.post(WRITE_PATH, data=chunks(), headers=rw.headers())
        assert second.status == 503
        log.gate.set()
        assert (await first).status == 204
        third = await client.post(WRITE_PATH, data=chunks(), headers=rw.headers())
        assert third.status == 204


async def test_requests_during_shutdown_get_503(endpoint: Endpoint) -> None:
    endpoint.receiver.stopping = True
    assert (await endpoint.post(rw.request_v1(*good()))).status == 503
    assert (await endpoint.client.get("/-/ready")).status == 503


# --- what was not taken in is counted by its reason -----------------------------------------------


async def counted(endpoint: Endpoint, name: str) -> dict[str, float]:
    """By reason, those that happened."""
    text = await (await endpoint.client.get("/metrics")).text()
    found = re.findall(rf'streamgauge_archive_{name}{{reason="(.*)"}} (\S+)', text)
    return {reason: float(count) for reason, count in found if float(count)}


async def test_refused_requests_are_counted_by_their_reason(endpoint: Endpoint) -> None:
    nameless = rw.Series([("job", "x")], [rw.sample(1, now())] * 2)
    late = rw.series("up", rw.sample(1, now() + 10**9))
    await endpoint.post_body(bytes(LIMITS.body + 1))
    await endpoint.post_body(b"no snappy")
    await endpoint.post_body(b"no snappy")
    await endpoint.post(rw.request_v1(*good(), nameless, late))
    await endpoint.post(rw.request_v1(nameless))
    await endpoint.post(rw.request_v1(*good()), Content_Encoding="gzip")
    expected = {"size": 1, "malformed": 2, "parts": 2, "encoding": 1}
    assert await counted(endpoint, "refused_requests_total") == expected
    rules = {"no metric name": 4, "a time too far in the future": 1}
    assert await counted(endpoint, "refused_samples_total") == rules
    assert await counted(endpoint, "deferred_requests_total") == {}


async def test_deferred_requests_are_counted_by_their_reason(endpoint: Endpoint) -> None:
    for endpoint.log.error in (WalUnavailableError("no space left"), ValueError("a bug")):
        await endpoint.post(rw.request_v1(*good()))
    assert endpoint.receiver.hold(LIMITS.body)
    taken = [endpoint.receiver.hold(LIMITS.body) for _ in range(30)].count(True) + 1
    await endpoint.post_body(bytes(LIMITS.body))
    for _ in range(taken):
        endpoint.receiver.release(LIMITS.body)
    endpoint.receiver.stopping = True
    await endpoint.post(rw.request_v1(*good()))
    expected = {"disk": 1, "fault": 1, "busy": 1, "stopping": 1}
    assert await counted(endpoint, "deferred_requests_total") == expected


async def test_a_body_that_does_not_arrive_is_deferred_and_counted(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archive.http.write_endpoint.BODY_SECONDS", 0.0)
    gate = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        yield b"a"
        await gate.wait()

    appending = endpoint.client.post(WRITE_PATH, data=chunks(), headers=rw.headers())
    response = await appending
    gate.set()
    assert response.status == 503
    assert await counted(endpoint, "deferred_requests_total") == {"slow": 1}


async def test_histograms_and_exemplars_are_counted_when_they_are_durable(
    endpoint: Endpoint,
) -> None:
    exemplars = [rw.Exemplar(now(), 1, [("trace_id", "a")])] * 2
    series = rw.Series([("__name__", "h")], histograms=[rw.Histogram(now())], exemplars=exemplars)
    endpoint.log.error = WalUnavailableError("no space left")
    await endpoint.post(rw.request_v2(series), rw.V2)
    assert await endpoint.metric("histograms_total") == 0
    endpoint.log.error = None
    await endpoint.post(rw.request_v2(series), rw.V2)
    assert await endpoint.metric("histograms_total") == 1
    assert await endpoint.metric("exemplars_total") == 2


async def test_no_time_beyond_the_last_day_is_taken_however_far_the_future_may_be(
    tmp_path: Path,
) -> None:
    ages = 9_000 * 366 * 86_400.0
    last = 253_370_764_799_999
    async with open_endpoint(tmp_path, Limits(future=ages)) as endpoint:
        for version in (rw.V1, rw.V2):
            series = [
                rw.series("up", rw.sample(1, last)),
                rw.series("down", rw.sample(1, last + 1)),
            ]
            response = await endpoint.post(request_of(version, *series), version)
            assert response.status == 400
            assert "1 x a time too far in the future (first: down{})" in await response.text()
        assert [batch.times.tolist() for batch in endpoint.log.batches] == [[last], [last]]


# --- the other pages ------------------------------------------------------------------------------


async def test_the_process_says_how_it_is(endpoint: Endpoint) -> None:
    assert (await endpoint.client.get("/-/healthy")).status == 200
    assert (await endpoint.client.get("/-/ready")).status == 200
    index = await endpoint.client.get("/")
    assert WRITE_PATH in await index.text()


async def test_trouble_is_reported_by_ready_and_by_healthy(tmp_path: Path) -> None:
    receiver = Receiver(
        Decoder(LIMITS, "", SeriesTable()),
        MemoryLog(),
        LIMITS,
        Quarantine(tmp_path, NOTHING_KEPT),
        ReceiverCounters(),
    )
    endpoint = WriteEndpoint(
        receiver, ReceiverCounters(), 9, Access(LiveWebConfig(), BearerTokens({}))
    )
    app = make_app(endpoint, SelfMetrics(tuple), lambda: "the disk is full", lambda: "no more work")
    async with TestClient(TestServer(app)) as client:
        ready, healthy = await client.get("/-/ready"), await client.get("/-/healthy")
        assert (ready.status, await ready.text()) == (503, "the disk is full\n")
        assert (healthy.status, await healthy.text()) == (503, "no more work\n")
