"""The sample of last messages: which streams are read, and what is reported of the rest."""

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from support.exporter.models import stream, stream_config

from exporter.errors import RequestError
from exporter.model import Stream
from exporter.sources.jetstream_api import message_ids
from exporter.sources.jetstream_api.client import AccountApi
from exporter.sources.jetstream_api.message_ids import MESSAGES_PER_STREAM, MessageIds
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.transport.connection import Reply

WITH_ID = b"NATS/1.0\r\nNats-Msg-Id: 1\r\n\r\n"
WITHOUT = b"NATS/1.0\r\nOther: Nats-Msg-Id\r\n\r\n"


class Handler:
    """Responds like the leader of each stream, and records the requests."""

    def __init__(
        self,
        headers: Callable[[int], bytes | None],
        content: Callable[[int], dict[str, str]] = lambda _: {},
    ) -> None:
        self._headers, self._content = headers, content
        self.requested: list[int] = []

    async def request(self, subject: str, payload: bytes = b"", *, timeout: float) -> Reply:
        if subject.endswith(".DENIED"):
            raise RequestError("permission", f"{subject} was denied")
        seq = json.loads(payload)["seq"]
        self.requested.append(seq)
        found = self._headers(seq)
        response: Mapping[str, Any] = {"error": {"code": 404, "description": "no message found"}}
        if found is not None:
            encoded = base64.b64encode(found).decode()
            response = {"message": {"seq": seq, "hdrs": encoded, **self._content(seq)}}
        return Reply(json.dumps(response).encode(), {}, 0.0, 0.0)


def message_ids_of(handler: Handler) -> MessageIds:
    return MessageIds(AccountApi(handler))  # type: ignore[arg-type]


def row(name: str = "ORDERS", **changes: Any) -> Stream:
    config = stream_config(duplicate_window_seconds=120.0)
    state = {"messages": 100, "first_seq": 1, "last_seq": 100, "config": config}
    return stream(name, **{**state, **changes})


def context() -> RequestContext:
    return RequestContext(time.monotonic() + 10, SkippedRequests())


async def test_the_last_messages_are_read_and_those_with_an_id_counted() -> None:
    handler = Handler(lambda seq: WITH_ID if seq % 2 else WITHOUT)
    found, error = await message_ids_of(handler).read([row()], context())
    assert error is None
    sample = found["APP", "ORDERS"]
    assert (sample.read, sample.with_id) == (MESSAGES_PER_STREAM, MESSAGES_PER_STREAM // 2)
    assert sorted(handler.requested) == list(range(81, 101))


@pytest.mark.parametrize(
    ("ids", "payload", "repeated", "renamed"),
    [
        (lambda seq: seq, lambda seq: f"{seq:024}", 0, 0),
        (lambda seq: seq // 2, lambda seq: f"{seq // 2:024}", 9, 0),
        (lambda seq: seq, lambda seq: f"{seq // 2:024}", 0, 9),
        (lambda seq: seq, lambda seq: f"{seq // 2:023}", 0, 0),
    ],
    ids=["all differ", "the same id again", "another id", "too short to compare"],
)
async def test_messages_that_repeat_another_are_counted(
    ids: Callable[[int], int], payload: Callable[[int], str], repeated: int, renamed: int
) -> None:
    handler = Handler(
        lambda seq: b"NATS/1.0\r\nnats-msg-id:%d\r\n\r\n" % ids(seq),
        lambda seq: {"subject": "orders", "data": payload(seq)},
    )
    found, _ = await message_ids_of(handler).read([row()], context())
    sample = found["APP", "ORDERS"]
    assert (sample.repeated, sample.renamed) == (repeated, renamed)


async def test_what_is_gone_does_not_count_and_a_short_stream_ends_at_its_first() -> None:
    handler = Handler(lambda seq: None if seq == 99 else WITH_ID)
    found, _ = await message_ids_of(handler).read([row(first_seq=98, messages=2)], context())
    assert (found["APP", "ORDERS"].read, handler.requested) == (2, [100, 99, 98])


@pytest.mark.parametrize(
    "unread",
    [
        row(messages=0),
        row(up=False),
        row(config=None),
        row(config=stream_config()),
        row(config=stream_config(duplicate_window_seconds=120.0, mirror="ORIGIN")),
    ],
    ids=["empty", "down", "unknown", "no window", "mirror"],
)
async def test_a_stream_that_dedupes_nothing_is_not_read(unread: Stream) -> None:
    handler = Handler(lambda _: WITH_ID)
    assert await message_ids_of(handler).read([unread], context()) == ({}, None)
    assert handler.requested == []


async def test_one_that_may_not_be_read_does_not_cost_the_others() -> None:
    found, error = await message_ids_of(Handler(lambda _: WITH_ID)).read(
        [row(), row("DENIED")], context()
    )
    assert list(found) == [("APP", "ORDERS")]
    assert error is not None
    assert error.reason == "partial"


async def test_streams_above_the_limit_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_ids, "MOST_STREAMS", 1)
    found, error = await message_ids_of(Handler(lambda _: WITH_ID)).read(
        [row("A"), row("B")], context()
    )
    assert list(found) == [("APP", "A")]
    assert error is not None
    assert error.detail == "1 streams beyond 1 were not sampled"
