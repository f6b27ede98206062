"""The selected metrics are in the catalogue and fit the forecasts."""

import pytest

from exporter.catalog import BY_NAME
from exporter.metric import Kind
from spark_rollups import metric_selection
from spark_rollups.rollup.tables import schemas

LISTS = {
    "HOURLY": metric_selection.HOURLY,
    "TRENDED": metric_selection.TRENDED,
    "STATES": metric_selection.STATES,
    "QUANTILES": metric_selection.QUANTILES,
    "FORECASTED": tuple(name for each in metric_selection.FORECASTED for name in each[:2]),
}


@pytest.mark.parametrize("name", LISTS)
def test_every_name_is_in_the_catalogue_and_stands_once(name: str) -> None:
    assert LISTS[name]
    assert [each for each in LISTS[name] if each not in BY_NAME] == []
    assert len(set(LISTS[name])) == len(LISTS[name])


def test_a_level_and_its_limit_speak_of_the_same_thing() -> None:
    for each in metric_selection.FORECASTED:
        level, limit = BY_NAME[each.metric], BY_NAME[each.limit]
        assert level.labels == limit.labels
        assert level.unit == limit.unit
        assert level.subject.value == limit.subject.value == each.subject


def test_what_is_forecast_is_kept_by_the_hour() -> None:
    assert {each.metric for each in metric_selection.FORECASTED} <= set(metric_selection.HOURLY)


def test_states_and_quantiles_are_of_gauges() -> None:
    for name in (*metric_selection.STATES, *metric_selection.QUANTILES):
        assert BY_NAME[name].kind is Kind.GAUGE


def test_identity_columns_lead_every_table_of_days() -> None:
    for name, schema in schemas.DAY_TABLES.items():
        assert tuple(schema.names[: len(schemas.IDENTITY)]) == schemas.IDENTITY, name
