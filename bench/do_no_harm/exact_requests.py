"""Cost of the requests for single consumers and messages that the exact signals send."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import msgspec

from bench.big_server import BigServer
from bench.do_no_harm.publisher import CONSUMER, FILTERS, STREAM, SUBJECT
from bench.process import cpu_seconds
from bench.table import show
from exporter.sources.exact_requests.reader import ExactOptions
from exporter.sources.transport.connection import NatsConnection

_API = "$JS.API"
_DEFAULTS = ExactOptions()
_TIMES = 200


@dataclass(frozen=True, slots=True)
class SingleRequest:
    name: str
    subject: str
    payload: bytes = b""
    in_a_round: int = 1  # maximum of one poll, or of one round of counts, by default
    times: int = _TIMES


def single_requests() -> Iterator[SingleRequest]:
    """One filter per number of matching subjects: the cost grows with that number."""
    first = msgspec.json.encode({"seq": 1, "next_by_subj": f"{SUBJECT}.>"})
    counts, lags = _DEFAULTS.counts_per_round, _DEFAULTS.lags_per_poll
    info = f"{_API}.CONSUMER.INFO.{STREAM}.{CONSUMER}"
    yield SingleRequest("consumer_info", info, in_a_round=2 * counts)
    yield SingleRequest("direct_get", f"{_API}.DIRECT.GET.{STREAM}", first, lags)
    yield SingleRequest("msg_get", f"{_API}.STREAM.MSG.GET.{STREAM}", first, lags)
    for wide, number in FILTERS.items():
        yield SingleRequest(
            f"filter {number // 1000}k",
            f"{_API}.STREAM.INFO.{STREAM}",
            msgspec.json.encode({"subjects_filter": wide}),
            # As many as the subject limit of a round allows.
            in_a_round=min(counts, _DEFAULTS.most_subjects // number),
            times=max(10, _TIMES * 1000 // number),
        )


def at_once(connection: NatsConnection, request: SingleRequest) -> Callable[[], Awaitable[None]]:
    """A whole round of requests, with the concurrency of a poll."""

    async def one_round() -> None:
        left = iter(range(request.in_a_round))

        async def worker() -> None:
            for _ in left:
                await connection.request(request.subject, request.payload, timeout=30)

        await asyncio.gather(*(worker() for _ in range(_DEFAULTS.at_once)))

    return one_round


async def show_costs(big: BigServer, connection: NatsConnection) -> None:
    rows = [await _cost(big, connection, request) for request in single_requests()]
    header = ("request", "p50", "max", "server CPU", "response", "in a round")
    show("one request after the other, each in ms", header, rows)


async def _cost(
    big: BigServer, connection: NatsConnection, request: SingleRequest
) -> tuple[str, ...]:
    took, size, before = [], 0, cpu_seconds(big.server.pid)
    for _ in range(request.times):
        started = time.perf_counter()
        size = len((await connection.request(request.subject, request.payload, timeout=30)).data)
        took.append(time.perf_counter() - started)
    cpu = (cpu_seconds(big.server.pid) - before) / request.times
    cells = [f"{one * 1000:.2f}" for one in (statistics.median(took), max(took), cpu)]
    return (request.name, *cells, f"{size / 1000:,.1f} kB", str(request.in_a_round))
