"""The name of a system that the settings do not name."""

import pytest
from support.exporter.models import server, snapshot

from exporter.polling.system_name import system_name

GENERATED = "YxlBRnkIpCAzIdGMxqyWmE"
KEY = "N" + "AB2" * 18 + "C"


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ([{"domain": "hub", "cluster": "east"}], "hub"),
        ([{"cluster": "east"}, {"cluster": "east"}], "east"),
        ([{"cluster": "east"}, {"cluster": "west"}], "nats"),
        ([{"cluster": "east"}, {"cluster": ""}], "nats"),
        ([{"cluster": "east"}, {"cluster": "west", "up": False}], "east"),
        ([{"cluster": GENERATED}], "nats"),
        ([{"cluster": KEY}], "nats"),
        ([{"cluster": "productioncluster00001"}], "productioncluster00001"),
        ([{"domain": GENERATED, "cluster": "east"}], "east"),
        ([{"domain": "hub"}, {"domain": "leaf", "jetstream": True}], "nats"),
        ([{"cluster": "a\nb"}], "nats"),
        ([{}], "nats"),
        ([], "nats"),
    ],
)
def test_domain_then_cluster_then_nats(rows: list[dict[str, object]], name: str) -> None:
    servers = [server(f"n{place}", **{"jetstream": True, **row}) for place, row in enumerate(rows)]
    assert system_name(snapshot(*servers)) == name
