"""Many questions of one kind: what one failure means for the others."""

from __future__ import annotations

import time

import pytest

from exporter.errors import QuestionError
from exporter.sources.fan_out import ask_each, each_of
from exporter.sources.request_context import Asking, LeftOut

STREAMS = [f"S{number}" for number in range(8)]


class Desk:
    """Refuses some for a reason; remembers who was asked for."""

    def __init__(self, refused: dict[str, str]) -> None:
        self.refused = refused
        self.asked: list[str] = []

    async def ask(self, stream: str) -> None:
        self.asked.append(stream)
        if reason := self.refused.get(stream):
            raise QuestionError(reason, f"{stream}: {reason}")


def in_time() -> Asking:
    return Asking(time.monotonic() + 60, LeftOut())


async def test_a_denial_of_one_after_another_was_allowed_ends_nothing() -> None:
    desk = Desk({"S3": "permission"})
    failures = await each_of(STREAMS, desk.ask, 1)
    assert (desk.asked, [str(failure.reason) for failure in failures]) == (STREAMS, ["permission"])


async def test_a_denial_of_the_first_ends_it_for_all_would_be_denied() -> None:
    desk = Desk(dict.fromkeys(STREAMS, "permission"))
    await each_of(STREAMS, desk.ask, 1)
    assert desk.asked == ["S0"]


async def test_a_lost_connection_ends_it() -> None:
    desk = Desk({"S2": "disconnected"})
    await each_of(STREAMS, desk.ask, 1)
    assert desk.asked == ["S0", "S1", "S2"]


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        ({"S3": "permission"}, "partial"),  # the others need not rest for it
        (dict.fromkeys(STREAMS[:1], "permission"), "permission"),
        ({"S3": "timeout"}, "timeout"),
    ],
)
async def test_the_reason_says_whether_all_of_it_failed(
    refused: dict[str, str], reason: str
) -> None:
    streams = STREAMS[:1] if "S0" in refused else STREAMS
    with pytest.raises(QuestionError) as caught:
        await ask_each(streams, Desk(refused).ask, 1, in_time(), "streams")
    assert caught.value.reason == reason
    assert f"1 of {len(streams)} streams" in caught.value.detail


async def test_after_the_deadline_nobody_is_asked() -> None:
    desk = Desk({})
    with pytest.raises(QuestionError) as caught:
        await ask_each(STREAMS, desk.ask, 4, Asking(time.monotonic() - 1, LeftOut()))
    assert (caught.value.reason, desk.asked) == ("timeout", [])
