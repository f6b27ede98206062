"""The conditions of servers."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import NOW, server

from exporter import catalog
from exporter.model import ClockEstimate
from exporter.signals.conditions.held import Held
from exporter.signals.conditions.limits import Limits
from exporter.signals.conditions.servers import judge_servers


def server_conditions(*how: Any) -> dict[str, Held]:
    return judge_servers(*how)[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ()),
        ({"up": False}, ("down",)),
        ({"up": False, "healthy": False, "offset": 9.0}, ("down",)),  # the rest is old
        ({"healthy": False}, ("unhealthy",)),
        ({"healthy": None}, ()),
        ({"storage_used": 90, "storage_max": 100}, ()),
        ({"storage_used": 91, "storage_max": 100}, ("storage_high",)),
        ({"memory_used": 91, "memory_max": 100}, ("storage_high",)),
        ({"storage_used": 91, "storage_max": 0}, ()),
        ({"clock": ClockEstimate(1.5, 0.5, 1.0)}, ()),
        ({"clock": ClockEstimate(-1.6, 0.5, 1.0)}, ("clock_off",)),
        ({"offset": None}, ()),
        ({"offset": 3600.0, "healthy": False}, ("unhealthy", "clock_off")),
    ],
)
def test_each_condition_holds_at_its_threshold_and_not_just_below(
    changes: dict[str, Any], expected: tuple[str, ...]
) -> None:
    found = server_conditions({}, [server(**changes)], NOW)
    assert found == ({"n1": tuple((word, NOW) for word in expected)} if expected else {})
    assert expected == tuple(word for word in catalog.SERVER_CONDITIONS if word in expected)


def test_the_settings_of_the_exporter_decide() -> None:
    full = server(storage_used=91, storage_max=100)
    wide = Limits(server_storage_ratio=0.95, clock_offset=2.0)
    assert server_conditions({}, [full], NOW, wide) == {}
    ahead = server(clock=ClockEstimate(-1.6, 0.5, 1.0))
    assert server_conditions({}, [ahead], NOW, wide) == {}
    assert server_conditions({}, [full, ahead], NOW) != {}


def test_a_condition_keeps_its_start_until_it_ends() -> None:
    down = server_conditions({}, [server(up=False), server("n2")], NOW)
    later = server_conditions(down, [server(up=False), server("n2", up=False)], NOW + 15)
    assert later == {"n1": (("down", NOW),), "n2": (("down", NOW + 15),)}
    assert server_conditions(later, [server(), server("n2")], NOW + 30) == {}


SIZES = {"storage_used": 9, "storage_max": 100, "memory_used": 9, "memory_max": 100}
SEEN = {"healthy": True, "jetstream": True, **SIZES}
HIDDEN = "no value reported"
SILENT = "the server does not respond"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"healthy": None}, {"unhealthy": HIDDEN}),
        ({"offset": None}, {"clock_off": HIDDEN}),
        ({"storage_used": None}, {"storage_high": HIDDEN}),
        ({"memory_max": None}, {"storage_high": HIDDEN}),
        ({"memory_max": None, "storage_used": 91}, {}),  # high, whatever the memory
        ({"jetstream": False, **dict.fromkeys(SIZES)}, {}),
        ({"up": False}, {"unhealthy": SILENT, "storage_high": SILENT, "clock_off": SILENT}),
    ],
)
def test_what_has_no_value_is_not_judged(changes: dict[str, Any], expected: dict[str, str]) -> None:
    _, unjudged = judge_servers({}, [server(**SEEN | changes)], NOW)
    assert {name: dict(each) for name, each in unjudged.items()} == (
        {"n1": expected} if expected else {}
    )


def test_what_held_goes_on_until_a_value_shows_otherwise() -> None:
    bad = judge_servers({}, [server(**SEEN | {"healthy": False, "offset": 9.0})], NOW)[0]
    blind = server(**SEEN | {"healthy": None, "offset": None})
    assert judge_servers(bad, [blind], NOW + 15) == (bad, {})
    well = server(**SEEN)
    assert judge_servers(bad, [well], NOW + 30) == ({}, {})
    # Of a server that is down only that is known.
    down, unjudged = judge_servers(bad, [server(up=False)], NOW + 15)
    assert down == {"n1": (("down", NOW + 15),)}
    assert [word for word, _ in unjudged["n1"]] == ["unhealthy", "storage_high", "clock_off"]
