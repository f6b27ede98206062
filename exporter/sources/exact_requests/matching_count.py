"""Counts the stored messages that match a consumer's filters, with the consumer's state then."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from exporter.signals.events_input import FilteredCount
from exporter.sources.decoding.wire import WireConsumerInfo
from exporter.sources.jetstream_api.client import NOT_FOUND, AccountApi, ApiError
from exporter.sources.jetstream_api.subjects import subject_info
from exporter.sources.request_context import RequestContext

# A consumer sees a stored message, and its replicas a delivery, with a short delay.
SETTLE_SECONDS = 0.05


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
        responses = [await subject_info(self.api, stream, wanted, context) for wanted in filters]
        if any(response.total > len(response.counts) for response in responses):
            return None
        before = await self.api.consumer_info(stream, consumer, context)
        await asyncio.sleep(SETTLE_SECONDS)
        after = await self.api.consumer_info(stream, consumer, context)
        stream_after = (await subject_info(self.api, stream, "", context)).state
        if not _same(before, after) or any(
            a.state.position != stream_after.position for a in responses
        ):
            return None
        return FilteredCount(
            matching=sum(sum(response.counts.values()) for response in responses),
            removed=stream_after.last_seq - stream_after.messages,
            deliveries=after.delivered.consumer_seq,
            num_pending=after.num_pending,
        )


def _same(before: WireConsumerInfo, now: WireConsumerInfo) -> bool:
    return (
        before.created == now.created
        and before.delivered.consumer_seq == now.delivered.consumer_seq
        and before.num_pending == now.num_pending
    )
