"""How often configuration is read, and when it no longer is."""

from collections import Counter
from typing import Any

import pytest
from support.exporter.models import NOW, at, stream, stream_config

from exporter.sources.servers.config_refresh import ConfigRefresh
from exporter.sources.servers.snapshot import ServersState, SourceOptions


def memory(consumers: int, **changes: int) -> ServersState:
    made = ServersState(SourceOptions("nats", config_interval=60.0, **changes))
    made.consumers = consumers
    return made


def test_configuration_is_read_at_the_start_and_then_once_an_interval() -> None:
    kept = memory(consumers=10)
    assert kept.config_due(0.0)
    kept.config_read(0.0)
    assert not kept.config_due(59.0)
    assert kept.config_due(60.0)


def test_a_row_without_configuration_makes_it_due_early() -> None:
    kept = memory(consumers=10)
    kept.config_read(0.0)
    kept.configs.unknown.add("APP")
    assert not kept.config_due(19.0)
    assert kept.config_due(20.0)


def test_above_the_ceiling_it_is_read_once_and_no_more() -> None:
    kept = memory(consumers=11, config_ceiling=10)
    assert kept.over_ceiling
    assert kept.config_due(0.0)
    kept.config_read(0.0)
    kept.configs.unknown.add("APP")
    assert not kept.config_due(10_000.0)


def test_at_the_ceiling_it_goes_on() -> None:
    kept = memory(consumers=10, config_ceiling=10)
    kept.config_read(0.0)
    assert not kept.over_ceiling
    assert kept.config_due(60.0)


def test_after_a_timeout_it_pauses_so_that_the_smaller_request_has_time() -> None:
    memory = ServersState(SourceOptions("nats", config_interval=60.0))
    assert memory.config_due(1000.0)
    memory.config_failed(1000.0)
    assert not memory.config_due(1059.0)
    assert memory.config_due(1060.0)


def test_an_account_with_something_unknown_is_fetched_at_once() -> None:
    refresh, sizes = ConfigRefresh(), Counter({"SMALL": 10, "LARGE": 5000, "HUGE": 200_000})
    assert refresh._due({"SMALL", "LARGE"}, sizes, 100_000) == ["SMALL", "LARGE"]
    # The large one not in every poll.
    assert refresh._due({"SMALL", "LARGE"}, sizes, 100_000) == ["SMALL"]
    assert refresh.over_ceiling
    assert refresh._due({"HUGE"}, sizes, 100_000) == []
    assert refresh.over_ceiling
    assert refresh._due(set(), sizes, 100_000) == []
    assert not refresh.over_ceiling
    # Nor one that is still unknown after it was fetched.
    refresh._in_vain = frozenset({"SMALL"})
    assert refresh._due({"SMALL"}, sizes, 100_000) == []


def test_few_accounts_are_fetched_in_one_poll_the_smallest_first() -> None:
    refresh, sizes = ConfigRefresh(), Counter({f"A{number}": number for number in range(9)})
    assert refresh._due(sizes, sizes, 100_000) == ["A0", "A1", "A2", "A3", "A4"]
    assert refresh.over_ceiling


@pytest.mark.parametrize(
    ("changes", "config", "expected"),
    [
        ({}, {}, False),
        ({"last_seq": 30, "messages": 30}, {}, False),
        ({"first_seq": 11, "messages": 10}, {}, True),
        ({"first_seq": 11, "last_seq": 30}, {"max_messages": 20}, False),
        ({"messages": 15}, {}, True),
        ({"messages": 15}, {"retention": "workqueue"}, False),
        ({"messages": 15}, {"max_messages_per_subject": 1}, False),
        ({"messages": 15, "created": at(NOW)}, {}, False),
        ({}, {"max_messages": 19}, True),
        ({}, {"max_bytes": 100}, True),
    ],
)
def test_what_the_configuration_does_not_explain_is_noticed(
    changes: dict[str, Any], config: dict[str, Any], *, expected: bool
) -> None:
    known = stream_config(**config)
    plain: dict[str, Any] = {
        "first_seq": 1,
        "last_seq": 20,
        "messages": 20,
        "bytes": 2000,
        "created": at(NOW - 100),
        "config": known,
    }
    before = stream(**plain)
    refresh = ConfigRefresh(_streams={("APP", "ORDERS"): before})
    found = refresh._unexplained([stream(**plain | changes)], memory(consumers=1))
    assert found == ({"APP"} if expected else set())
