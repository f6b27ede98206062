"""One request to several servers: one outcome, and when it is skipped."""

from __future__ import annotations

import time

from exporter.errors import RequestError
from exporter.model import Skipped
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.servers.combined_outcome import CombinedOutcome


def reported(**responses: str) -> RequestContext:
    """Servers with the reason why each failed, "" for success."""
    combined, context = CombinedOutcome(), RequestContext(time.monotonic() + 60, SkippedRequests())
    for server, reason in responses.items():
        with combined.request("jsz", server):
            if reason:
                raise RequestError(reason, "no")
    combined.report_to(context)
    return context


def test_it_succeeds_when_all_servers_succeed() -> None:
    assert [(o.ok, o.reason) for o in reported(n1="", n2="").outcomes] == [(True, "")]


def test_too_large_everywhere_is_skipped() -> None:
    context = reported(n1="size", n2="size")
    assert context.skipped_requests.skipped(time.monotonic()) == (Skipped("jsz", "size"),)


def test_too_large_at_one_server_costs_the_others_nothing() -> None:
    context = reported(n1="", n2="size")
    assert [(o.ok, o.reason) for o in context.outcomes] == [(False, "size")]
    assert context.skipped_requests.skipped(time.monotonic()) == ()
