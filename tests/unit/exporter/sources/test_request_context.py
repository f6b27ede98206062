"""Requests that rest after a refusal, and how a refusal is recognised."""

import time

import pytest

from exporter.errors import RequestError
from exporter.sources.request_context import RETRY_AFTER_SECONDS, RequestContext, SkippedRequests
from exporter.sources.transport.connection import _as_checked


def test_a_refused_request_is_skipped_and_then_retried() -> None:
    skipped_requests = SkippedRequests()
    skipped_requests.note("statsz", "permission", 100.0)
    assert skipped_requests.is_skipped("statsz", 100.0 + RETRY_AFTER_SECONDS - 1)
    assert not skipped_requests.is_skipped("statsz", 100.0 + RETRY_AFTER_SECONDS)


def test_a_second_refusal_does_not_prolong_the_skipping() -> None:
    skipped_requests = SkippedRequests()
    skipped_requests.note("statsz", "permission", 100.0)
    skipped_requests.note("statsz", "permission", 200.0)
    assert not skipped_requests.is_skipped("statsz", 100.0 + RETRY_AFTER_SECONDS)


def test_a_timeout_skips_nothing() -> None:
    skipped_requests = SkippedRequests()
    skipped_requests.note("statsz", "timeout", 100.0)
    assert not skipped_requests.is_skipped("statsz", 100.0)


@pytest.mark.parametrize(
    ("requested", "denied"),
    [
        ("$JS.hub.API.STREAM.LIST", "$js.api.stream.list"),
        ("$JS.API.STREAM.LIST", "$js.api.stream.list"),
        ("$JS.API.CONSUMER.INFO.API.x", "$js.api.consumer.info.api.x"),
        ("$SYS.REQ.USER.INFO", "$sys.req.user.info"),
    ],
)
def test_a_denial_names_the_subject_as_the_server_checked_it(requested: str, denied: str) -> None:
    assert _as_checked(requested) == denied


def test_a_request_with_less_time_is_reported_with_the_others() -> None:
    whole = RequestContext(time.monotonic() + 10.0, SkippedRequests())
    part = whole.within(0.5)
    assert 4.0 < part.deadline - time.monotonic() <= 5.0
    with whole.request("statsz"):
        pass
    with part.request("jsz_config"):
        raise RequestError("timeout", "late")
    assert [(o.request, o.ok) for o in whole.outcomes] == [("statsz", True), ("jsz_config", False)]
    assert whole.failed_with("jsz_config", {"timeout"})
    assert not whole.failed_with("statsz", {"timeout"})
    assert whole.refused("jsz_config")  # a smaller request may still succeed
