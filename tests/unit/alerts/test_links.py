"""Links of alerts to pages of the exporter: each leads to the asset that the alert is about."""

from __future__ import annotations

import re
import time
from html import unescape
from typing import cast
from urllib.parse import quote_plus

import pytest
from aiohttp.test_utils import TestClient, TestServer
from support.exporter.models import consumer, server, stream
from support.exporter.status_views import polled, site

from alerts.rendering.rule_files import rule
from alerts.rules import ALERTS, BY_NAME
from exporter.polling.supervisor import Supervisor
from exporter.web import make_app

STREAM, CONSUMER, SERVER = "ORDERS & more", "wörker/1+2", "n1 <west>"
ROWS = (stream(STREAM), consumer(CONSUMER, stream=STREAM), server(SERVER))
LABELS = {
    "system": "demo", "account": "APP", "stream": STREAM, "consumer": CONSUMER, "server": SERVER,
}  # fmt: skip
VALUE = re.compile(r"\{\{ \$labels\.([a-z]+) \| urlquery \}\}")
PAGE = re.compile(rf"\b(?:consumer|stream|server)\?(?:[a-z]+={VALUE.pattern}&?)+")


def pages_of(name: str) -> list[str]:
    """Addresses of all pages that the link of an alert may lead to."""
    template = rule(BY_NAME[name])["annotations"]["dashboard_url"]
    found = (each[0] for each in PAGE.finditer(template))
    return [VALUE.sub(lambda label: quote_plus(LABELS[label[1]]), each) for each in found]


@pytest.mark.parametrize("name", [alert.full_name for alert in ALERTS])
async def test_each_page_of_a_link_opens_and_names_the_asset(name: str) -> None:
    supervisor = cast("Supervisor", site(polled(*ROWS, now=time.time())).supervisor)
    async with TestClient(TestServer(make_app(supervisor, "flags"))) as client:
        for page in pages_of(name):
            kind = page.partition("?")[0]
            response = await client.get(f"/{page}")
            text = unescape(await response.text())
            assert response.status == 200, (page, text)
            assert f"<span>{LABELS[kind]} <small>" in text, page


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("JetStreamConsumerStalled", ["consumer"]),
        ("JetStreamStreamReplicaOffline", ["stream"]),
        ("JetStreamServerDown", ["server"]),
        ("JetStreamOwnerLimitExceeded", ["consumer", "stream"]),
        ("JetStreamConfigFinding", ["stream", "server"]),
        ("JetStreamMetaPeerOffline", []),  # its page may be gone
        ("JetStreamSystemUnreachable", []),
    ],
)
def test_a_link_leads_to_the_asset_of_the_alert(name: str, kinds: list[str]) -> None:
    assert [page.partition("?")[0] for page in pages_of(name)] == kinds


def test_the_exporter_of_the_system_is_chosen_among_several() -> None:
    url = rule(BY_NAME["JetStreamConsumerStalled"])["annotations"]["runbook_url"]
    assert "snapshot_age_seconds{system=%q,cluster=%q,namespace=%q,job=%q}" in url
    assert "snapshot_age" not in rule(BY_NAME["JetStreamWatchdog"])["annotations"]["runbook_url"]
