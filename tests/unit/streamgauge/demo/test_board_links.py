"""Board links of the demo: to Grafana where it runs, else to the exporter's page of the asset."""

from __future__ import annotations

import pytest

from streamgauge.demo.web.board_links import asset_board, board_target

EXPORTER = "http://127.0.0.1:7778"
CHOSEN = {
    "orgId": "1",
    "var-system": "demo",
    "var-account": "APP",
    "var-stream": "A&B",
    "var-consumer": "slow one",
}


def test_with_grafana_a_link_opens_the_board_with_its_variables() -> None:
    target = board_target("sg-stream", {"var-stream": "A&B"}, "http://127.0.0.1:3000", EXPORTER)
    assert target == "http://127.0.0.1:3000/d/sg-stream?var-stream=A%26B"


@pytest.mark.parametrize(
    ("uid", "page"),
    [
        ("sg-consumer", "/consumer?system=demo&account=APP&stream=A%26B&consumer=slow+one"),
        ("sg-stream", "/stream?system=demo&account=APP&stream=A%26B"),
        ("sg-publish", "/stream?system=demo&account=APP&stream=A%26B"),
        ("sg-fleet", "/"),
        ("sg-unknown", "/"),
    ],
)
def test_without_grafana_it_opens_the_page_of_the_same_asset(uid: str, page: str) -> None:
    assert board_target(uid, CHOSEN, None, EXPORTER) == f"{EXPORTER}{page}"


def test_a_link_without_a_name_opens_the_status_page() -> None:
    assert board_target("sg-consumer", {"var-system": "demo"}, None, EXPORTER) == f"{EXPORTER}/"


def test_an_alert_leads_to_the_board_of_its_asset() -> None:
    stream = {"system": "demo", "account": "APP", "stream": "ORDERS"}
    assert asset_board(stream) == "/d/sg-stream?var-system=demo&var-account=APP&var-stream=ORDERS"
    assert asset_board(stream | {"consumer": "c"}) == (
        "/d/sg-consumer?var-system=demo&var-account=APP&var-stream=ORDERS&var-consumer=c"
    )
    assert asset_board({"server": "n1"}) == "/d/sg-fleet"
