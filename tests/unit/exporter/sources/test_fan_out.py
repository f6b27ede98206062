"""Many requests of one kind: what one failure means for the others."""

from __future__ import annotations

import time

import pytest

from exporter.errors import RequestError
from exporter.sources.fan_out import fan_out, run_each
from exporter.sources.request_context import RequestContext, SkippedRequests

STREAMS = [f"S{number}" for number in range(8)]


class Handler:
    """Refuses some items with a reason; records all requests."""

    def __init__(self, refused: dict[str, str]) -> None:
        self.refused = refused
        self.requested: list[str] = []

    async def request(self, stream: str) -> None:
        self.requested.append(stream)
        if reason := self.refused.get(stream):
            raise RequestError(reason, f"{stream}: {reason}")


def in_time() -> RequestContext:
    return RequestContext(time.monotonic() + 60, SkippedRequests())


async def test_a_denial_of_one_after_another_was_allowed_ends_nothing() -> None:
    handler = Handler({"S3": "permission"})
    failures = await run_each(STREAMS, handler.request, 1)
    assert (handler.requested, [str(failure.reason) for failure in failures]) == (
        STREAMS,
        ["permission"],
    )


async def test_a_denial_of_the_first_ends_it_for_all_would_be_denied() -> None:
    handler = Handler(dict.fromkeys(STREAMS, "permission"))
    await run_each(STREAMS, handler.request, 1)
    assert handler.requested == ["S0"]


async def test_a_lost_connection_ends_it() -> None:
    handler = Handler({"S2": "disconnected"})
    await run_each(STREAMS, handler.request, 1)
    assert handler.requested == ["S0", "S1", "S2"]


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        ({"S3": "permission"}, "partial"),  # the others need not rest for it
        (dict.fromkeys(STREAMS[:1], "permission"), "permission"),
        ({"S3": "timeout"}, "timeout"),
    ],
)
async def test_the_reason_shows_whether_all_requests_failed(
    refused: dict[str, str], reason: str
) -> None:
    streams = STREAMS[:1] if "S0" in refused else STREAMS
    with pytest.raises(RequestError) as caught:
        await fan_out(streams, Handler(refused).request, 1, in_time(), "streams")
    assert caught.value.reason == reason
    assert f"1 of {len(streams)} streams" in caught.value.detail


async def test_after_the_deadline_no_request_is_sent() -> None:
    handler = Handler({})
    with pytest.raises(RequestError) as caught:
        await fan_out(
            STREAMS, handler.request, 4, RequestContext(time.monotonic() - 1, SkippedRequests())
        )
    assert (caught.value.reason, handler.requested) == ("timeout", [])
