"""One request to several servers: one outcome, and when it rests."""

from __future__ import annotations

import time

from exporter.errors import RequestError
from exporter.model import Skipped
from exporter.sources.request_context import LeftOut, RequestContext
from exporter.sources.servers.combined_outcome import Tally


def told(**responses: str) -> RequestContext:
    """Servers with the reason why each did not answer, "" when it did."""
    tally, context = Tally(), RequestContext(time.monotonic() + 60, LeftOut())
    for server, reason in responses.items():
        with tally.request("jsz", server):
            if reason:
                raise RequestError(reason, "no")
    tally.tell(context)
    return context


def test_it_is_good_when_all_answered() -> None:
    assert [(o.ok, o.reason) for o in told(n1="", n2="").outcomes] == [(True, "")]


def test_too_large_everywhere_rests() -> None:
    context = told(n1="size", n2="size")
    assert context.left_out.skipped(time.monotonic()) == (Skipped("jsz", "size"),)


def test_too_large_at_one_server_costs_the_others_nothing() -> None:
    context = told(n1="", n2="size")
    assert [(o.ok, o.reason) for o in context.outcomes] == [(False, "size")]
    assert context.left_out.skipped(time.monotonic()) == ()
