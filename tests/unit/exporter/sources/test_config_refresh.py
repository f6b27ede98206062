"""How often configuration is read, and when it no longer is."""

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
