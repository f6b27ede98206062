"""STREAM.INFO with the stored subjects that match a filter."""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire import WireApiError
from exporter.sources.jetstream_api.client import INFO_SECONDS, AccountApi, ApiError
from exporter.sources.request_context import RequestContext


class SubjectState(Struct, gc=False):
    messages: int = 0
    last_seq: int = 0
    subjects: dict[str, int] | None = None

    @property
    def position(self) -> tuple[int, int]:
        return self.last_seq, self.messages


class SubjectInfo(Struct, gc=False):
    state: SubjectState = field(default_factory=SubjectState)
    total: int = 0  # subjects; more than in `state` when the response is one page
    error: WireApiError | None = None

    @property
    def counts(self) -> dict[str, int]:
        return self.state.subjects or {}


async def subject_info(
    api: AccountApi, stream: str, wanted: str, context: RequestContext
) -> SubjectInfo:
    """Without subjects where `wanted` is empty."""
    subject = f"{api.prefix}.STREAM.INFO.{stream}"
    request = msgspec.json.encode({"subjects_filter": wanted}) if wanted else b""
    reply = await api.connection.request(subject, request, timeout=context.left(INFO_SECONDS))
    info = read_response(SubjectInfo, reply.data, subject)
    if info.error is not None:
        raise ApiError(subject, info.error)
    return info


def has_wildcard(subject: str) -> bool:
    return any(token in ("*", ">") for token in subject.split("."))
