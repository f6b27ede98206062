"""The conditions of servers."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import NOW, server

from exporter import catalog
from exporter.model import ClockEstimate
from exporter.signals.conditions.limits import Limits
from exporter.signals.conditions.servers import server_conditions


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
