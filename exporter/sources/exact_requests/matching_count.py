"""Counts the stored messages that match a consumer's filters, with the consumer's state then."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec
from msgspec import Struct, field

from exporter.signals.events_input import FilteredCount
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire import WireApiError, WireConsumerInfo
from exporter.sources.jetstream_api.client import INFO_SECONDS, NOT_FOUND, AccountApi, ApiError
from exporter.sources.request_context import RequestContext

# A consumer sees a stored message, and its replicas a delivery, with a short delay.
SETTLE_SECONDS = 0.05


class _State(Struct, gc=False):
    messages: int = 0
    last_seq: int = 0
    subjects: dict[str, int] | None = None

    @property
    def position(self) -> tuple[int, int]:
        return self.last_seq, self.messages


class _StreamInfo(Struct, gc=False):
    state: _State = field(default_factory=_State)
    total: int = 0  # subjects; more than in `state` when the response is one page
    error: WireApiError | None = None


@dataclass(frozen=True, slots=True)
class MatchingCounter:
    api: AccountApi

    async def count(
        self, stream: str, consumer: str, filters: tuple[str, ...], context: RequestContext
    ) -> FilteredCount | None:
        """None when the state changed meanwhile, or the consumer is gone."""
        try:
            return await self._count(stream, consumer, filters, context)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            return None

    async def _count(
        self, stream: str, consumer: str, filters: tuple[str, ...], context: RequestContext
    ) -> FilteredCount | None:
        responses = [await self._info(stream, wanted, context) for wanted in filters]
        if any(response.total > len(response.state.subjects or ()) for response in responses):
            return None
        before = await self.api.consumer_info(stream, consumer, context)
        await asyncio.sleep(SETTLE_SECONDS)
        after = await self.api.consumer_info(stream, consumer, context)
        stream_after = (await self._info(stream, "", context)).state
        if not _same(before, after) or any(
            a.state.position != stream_after.position for a in responses
        ):
            return None
        return FilteredCount(
            matching=sum(sum((response.state.subjects or {}).values()) for response in responses),
            removed=stream_after.last_seq - stream_after.messages,
            deliveries=after.delivered.consumer_seq,
            num_pending=after.num_pending,
        )

    async def _info(self, stream: str, wanted: str, context: RequestContext) -> _StreamInfo:
        subject = f"{self.api.prefix}.STREAM.INFO.{stream}"
        request = msgspec.json.encode({"subjects_filter": wanted}) if wanted else b""
        reply = await self.api.connection.request(
            subject, request, timeout=context.left(INFO_SECONDS)
        )
        info = read_response(_StreamInfo, reply.data, subject)
        if info.error is not None:
            raise ApiError(subject, info.error)
        return info


def _same(before: WireConsumerInfo, now: WireConsumerInfo) -> bool:
    return (
        before.created == now.created
        and before.delivered.consumer_seq == now.delivered.consumer_seq
        and before.num_pending == now.num_pending
    )
