"""Queries of the alert rules: one value per identity, thresholds by name, scaled windows."""

from __future__ import annotations

import pytest

from alerts import thresholds
from alerts.queries import certain_offset, fresh, holds, increase, latest
from alerts.render_options import DEFAULT, RenderOptions, Timing
from exporter import catalog
from streamgauge.promql.expression import ExpressionError

REPLICAS = "instance, pod, endpoint"
PENDING = (
    f"max without ({REPLICAS}) "
    '(last_over_time(streamgauge_consumer_num_pending{consumer!="_ephemeral"}[2m]))'
)


def test_a_value_is_taken_once_per_identity_and_survives_a_missed_scrape() -> None:
    assert latest(catalog.CONSUMER_NUM_PENDING).render(DEFAULT) == PENDING


def test_grouped_ephemerals_count_only_where_they_are_wanted() -> None:
    alone = latest(catalog.CONSUMER_NUM_PENDING, grouped=True).render(DEFAULT)
    assert "_ephemeral" not in alone


def test_an_info_query_needs_an_info() -> None:
    with pytest.raises(ExpressionError, match="streamgauge_stream_up: is a gauge"):
        holds(catalog.STREAM_UP)


def test_each_replica_has_a_clock_of_its_own() -> None:
    offset = certain_offset(
        catalog.SERVER_CLOCK_OFFSET_SECONDS, catalog.SERVER_CLOCK_UNCERTAINTY_SECONDS
    )
    assert offset.render(DEFAULT).startswith(f"max without ({REPLICAS}) (abs(last_over_time(")


def test_a_threshold_is_written_as_the_number_that_counts() -> None:
    condition = latest(catalog.META_PENDING) > thresholds.META_PENDING
    options = RenderOptions(thresholds=thresholds.overridden(["meta_pending=7"]))
    assert condition.render(DEFAULT).endswith("> 500)")
    assert condition.render(options).endswith("> 7)")


def test_a_threshold_can_be_a_window() -> None:
    options = RenderOptions(thresholds=thresholds.overridden(["consumer_paused=2h"]))
    window = thresholds.CONSUMER_PAUSED
    assert "[1d]" in increase(catalog.STREAM_RECREATED, window).render(DEFAULT)
    assert "[2h]" in increase(catalog.STREAM_RECREATED, window).render(options)


def test_a_trial_shortens_windows_but_leaves_two_samples_in_each() -> None:
    options = RenderOptions(timing=Timing(speed=60))
    assert "[15s]" in increase(catalog.STREAM_RECREATED, "15m").render(options)
    assert "[5s]" in latest(catalog.STREAM_UP).render(options)


def test_what_is_excluded_is_missing_from_every_selector_that_has_the_label() -> None:
    options = RenderOptions(exclusions={"stream": 'TE"ST\\d', "server": "n9"})
    text = (latest(catalog.STREAM_REPLICA_LAG) > 0).where(fresh()).render(options)
    assert '{stream!~"TE\\"ST\\\\d",server!~"n9"}[2m]' in text
    assert "snapshot_age_seconds[2m]" in text
