"""One question to several servers: one outcome, and when it rests."""

from __future__ import annotations

import time

from exporter.errors import QuestionError
from exporter.model import Skipped
from exporter.sources.request_context import Asking, LeftOut
from exporter.sources.servers.combined_outcome import Tally


def told(**answers: str) -> Asking:
    """Servers with the reason why each did not answer, "" when it did."""
    tally, asking = Tally(), Asking(time.monotonic() + 60, LeftOut())
    for server, reason in answers.items():
        with tally.question("jsz", server):
            if reason:
                raise QuestionError(reason, "no")
    tally.tell(asking)
    return asking


def test_it_is_good_when_all_answered() -> None:
    assert [(o.ok, o.reason) for o in told(n1="", n2="").outcomes] == [(True, "")]


def test_too_large_everywhere_rests() -> None:
    asking = told(n1="size", n2="size")
    assert asking.left_out.skipped(time.monotonic()) == (Skipped("jsz", "size"),)


def test_too_large_at_one_server_costs_the_others_nothing() -> None:
    asking = told(n1="", n2="size")
    assert [(o.ok, o.reason) for o in asking.outcomes] == [(False, "size")]
    assert asking.left_out.skipped(time.monotonic()) == ()
