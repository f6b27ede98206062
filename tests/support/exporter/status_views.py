"""Views of a system and the page made of them, for the tests of the status page."""

from __future__ import annotations

from dataclasses import replace

from exporter.pages.status.page import status_page
from exporter.pages.status.view import (
    ConsumerView,
    DocLink,
    RequestView,
    ServerView,
    StatusView,
    SystemView,
)

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def consumer(name: str = "worker", backlog: int = 0) -> ConsumerView:
    return ConsumerView(
        account="$G",
        stream="ORDERS",
        consumer=name,
        up=True,
        backlog=backlog,
        num_pending=backlog,
        num_ack_pending=0,
        max_ack_pending=1000,
        num_redelivered=0,
        num_waiting=1,
        ack_floor_gap=0,
        paused=False,
        leader="n1",
    )


SUCCEEDED = RequestView("consumer_list", ok=True, seconds=0.012, age_seconds=3.0)
HEALTHY = SystemView(
    name="demo",
    source="account",
    targets=("nats://127.0.0.1:4222",),
    state="fresh",
    age_seconds=3.4,
    poll_seconds=0.1,
    servers_responding=1,
    servers_expected=1,
    accounts=1,
    streams=12,
    consumers=34,
    series=816,
    requests=(replace(SUCCEEDED, request="stream_list"), SUCCEEDED),
    servers=(ServerView("n1", "2.15.1", up=True),),
    consumer_rows=(consumer(),),
)


def page_of(*systems: SystemView) -> str:
    return status_page(view_of(*systems))


def view_of(*systems: SystemView) -> StatusView:
    docs = (DocLink("Documentation", "https://docs.invalid/"),)
    return StatusView("0.1.0", 1_794_814_732.0, 15, "flags", systems, docs)
