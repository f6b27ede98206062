"""The history of the demo: valid metrics of the catalogue, reproducible, with its incidents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from alerts import thresholds
from exporter import catalog
from exporter.audit.registry import all_checks
from exporter.audit.severity import Severity
from exporter.metric import Kind, Metric
from exporter.signals.conditions.words import Condition
from exporter.signals.verdict import Verdict, verdict
from spark_rollups.forecasting.models.forecast import forecast
from streamgauge.demo.history.backlog import queue
from streamgauge.demo.history.recorded_series import HistoryError, Recorded, Recording
from streamgauge.demo.history.recording import record
from streamgauge.demo.history.scenario import (
    ACCOUNTS,
    CONSUMERS,
    CRASH,
    SERVERS,
    STREAMS,
    UPGRADE,
    ConsumerPlan,
    stream_plan,
)
from streamgauge.demo.history.time_grid import (
    EXPORTER_STARTS,
    MISSING,
    Grid,
    make_grid,
    season,
    since_exporter_start,
    steps_at,
)

UNTIL = date(2026, 11, 15)
STEP = 600
DAY = 86_400
Floats = NDArray[np.float64]


@cache
def history() -> Recording:
    return record(make_grid(UNTIL, 60, STEP))


def series(metric: Metric | str, **labels: str) -> list[Recorded]:
    name = metric if isinstance(metric, str) else metric.name
    return [
        each
        for each in history().series
        if each.name == name and labels.items() <= dict(each.labels).items()
    ]


def values(metric: Metric | str, **labels: str) -> Floats:
    (found,) = series(metric, **labels)
    return found.values


def grid() -> Grid:
    return history().grid


def last(metric: Metric | str, **labels: str) -> float:
    return float(values(metric, **labels)[-1])


def test_every_name_and_label_is_the_catalogues() -> None:
    for each in history().series:
        labels = {key for key, _ in each.labels} - {"__name__", "job", "instance"}
        stem = each.name
        for part in ("_bucket", "_sum", "_count"):
            if each.name not in catalog.BY_NAME:
                stem = stem.removesuffix(part)
        metric = catalog.BY_NAME[stem]
        bucket = {"le"} if each.name.endswith("_bucket") else set()
        assert labels <= {*metric.labels, *bucket}, each.name
        # An empty value is no label, as in Prometheus; the identity is never empty.
        missing = {"tier", "domain", "mirror", *catalog.OWNER_LABELS, *catalog.WRITER_LABELS}
        assert {*metric.labels} - labels <= missing, each.name
        assert dict(each.labels)["__name__"] == each.name


def test_no_series_comes_twice() -> None:
    names = [each.labels for each in history().series]
    assert len(names) == len(set(names))


def test_the_cast_is_as_small_as_promised() -> None:
    assert (len(STREAMS), len(CONSUMERS), len(SERVERS), len(ACCOUNTS)) == (8, 20, 3, 2)
    assert len(series(catalog.STREAM_MESSAGES)) == 8
    assert len(series(catalog.CONSUMER_NUM_PENDING)) == 20
    assert {plan.stream for plan in CONSUMERS} == {plan.name for plan in STREAMS}


def test_it_is_the_same_for_ever() -> None:
    again = record(make_grid(UNTIL, 60, STEP))
    assert [each.labels for each in again.series] == [each.labels for each in history().series]
    for one, other in zip(again.series, history().series, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_two_whole_days_are_missing_for_everybody() -> None:
    gone = ~grid().visible
    assert gone.sum() * STEP == 2 * DAY
    assert grid().times[gone][0] % DAY == 0
    for each in history().series:
        assert np.isnan(each.values[gone]).all(), each.name


def resets(each: Recorded) -> Iterator[float]:
    """Days before the end at which a counter fell."""
    present = np.flatnonzero(~np.isnan(each.values))
    fell = np.flatnonzero(np.diff(each.values[present]) < 0)
    yield from grid().ago[present[fell + 1]]


def test_counters_fall_only_after_a_restart() -> None:
    begun = [
        *EXPORTER_STARTS,
        *(plan.recreated for plan in (*STREAMS, *CONSUMERS) if plan.recreated),
    ]
    begun += [*UPGRADE.values(), CRASH[1]]  # restarts of servers
    for each in history().series:
        metric = catalog.BY_NAME.get(each.name)
        if metric is None or metric.kind is Kind.COUNTER:
            for ago in resets(each):
                assert min(abs(ago - each_begun) for each_begun in begun) < 0.1, (each, ago)


def test_levels_are_never_negative_and_infos_are_always_1() -> None:
    for each in history().series:
        seen = each.values[~np.isnan(each.values)]
        metric = catalog.BY_NAME.get(each.name)
        if metric is not None and metric.kind is Kind.INFO:
            assert set(seen) == {1.0}
        elif metric is not catalog.SERVER_CLOCK_OFFSET_SECONDS:
            assert seen.min() >= 0, each


def test_a_stream_is_led_by_exactly_one_server_at_a_time() -> None:
    for plan in STREAMS:
        leading = [~np.isnan(each.values) for each in series(catalog.STREAM_INFO, stream=plan.name)]
        assert (np.sum(leading, axis=0)[grid().visible] == 1).all()


def test_payments_will_be_full_in_about_three_weeks() -> None:
    level = values(catalog.STREAM_BYTES, stream="PAYMENTS")
    limit = last(catalog.STREAM_MAX_BYTES, stream="PAYMENTS")
    hourly = slice(5, None, 6)
    found = forecast(grid().times[hourly], level[hourly], limit)
    assert found.exhaustion.median is not None
    days = (found.exhaustion.median - grid().times[-1]) / DAY
    assert days == pytest.approx(21, abs=4)
    purge = np.nanmin(np.diff(values(catalog.STREAM_MESSAGES, stream="PAYMENTS")))
    assert purge < -3_000_000


def test_the_audit_log_was_full_rejected_and_got_a_higher_limit() -> None:
    fill = values(catalog.STREAM_FILL_RATIO, stream="AUDIT_LOG", limit="messages")
    assert np.nanmax(fill) == 1.0
    assert fill[-1] < 0.8
    assert last(catalog.STREAM_MAX_MESSAGES, stream="AUDIT_LOG") == 8_000_000
    assert values(catalog.STREAM_MAX_MESSAGES, stream="AUDIT_LOG")[0] == 3_000_000
    rejected = values(catalog.STREAM_PUBLISH_REJECTIONS, stream="AUDIT_LOG")
    assert np.nanmax(rejected) > 50_000
    unstored = values(catalog.STREAM_PUBLISHES_UNSTORED, stream="AUDIT_LOG")
    assert np.nanmax(unstored) == np.nanmax(rejected)


def test_clicks_stand_at_their_limit_by_design_and_one_reader_lost_messages() -> None:
    fill = values(catalog.STREAM_FILL_RATIO, stream="CLICKS", limit="bytes")
    assert np.nanmin(fill) > 0.99
    lost = {
        plan.name: np.nanmax(values(catalog.CONSUMER_LOST_MESSAGES, stream="CLICKS", consumer=plan.name))
        for plan in CONSUMERS
        if plan.stream == "CLICKS"
    }  # fmt: skip
    assert lost["reports"] > 100_000
    assert (lost["sessions"], lost["ads"]) == (0, 0)


def test_the_slow_consumer_gets_worse() -> None:
    lag = values(catalog.CONSUMER_LAG_SECONDS, stream="ORDERS", consumer="slow")
    early, late = grid().during(50, 40), grid().during(7, 0)
    assert np.nanmax(lag[early]) < 60
    assert np.nanmax(lag[late]) > 3600
    again = values(catalog.CONSUMER_REDELIVERY_RATIO, stream="ORDERS", consumer="slow")
    assert np.nanmean(again[late]) > 2.5 * np.nanmean(again[early])


def test_the_stuck_consumer_holds_all_it_may_and_its_backlog_only_grows() -> None:
    who = {"stream": "PAYMENTS", "consumer": "stuck"}
    stuck = grid().since(4.0)
    assert set(values(catalog.CONSUMER_NUM_ACK_PENDING, **who)[stuck]) == {20.0}
    assert (np.diff(values(catalog.CONSUMER_NUM_PENDING, **who)[stuck]) >= -1).all()
    assert set(values(catalog.CONSUMER_VERDICT, **who)[stuck]) == {
        float(catalog.VERDICTS.index("ack-pending full"))
    }


def test_poison_is_given_up_and_stays_in_the_work_queue() -> None:
    given_up = last(catalog.CONSUMER_EXHAUSTED_MESSAGES, consumer="poison")
    assert given_up > 20_000
    assert last(catalog.STREAM_MESSAGES, stream="INVOICES") >= given_up


def test_signups_come_three_times_and_are_stored_once() -> None:
    who = {"stream": "SIGNUPS"}
    hits, received = (
        last(metric, **who)
        for metric in (catalog.STREAM_DEDUPE_HITS, catalog.STREAM_PUBLISHES_RECEIVED)
    )
    assert hits / received == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.parametrize(
    ("metric", "labels"),
    [
        (catalog.STREAM_RECREATED, {"stream": "SIGNUPS"}),
        (catalog.STREAM_RESTORES, {"stream": "NOTICES"}),
        (catalog.STREAM_CONSUMERS_REMOVED, {"stream": "SIGNUPS"}),
        (catalog.STREAM_LEADER_CHANGES, {"stream": "ORDERS"}),
        (catalog.CONSUMER_RECREATED, {"consumer": "indexer"}),
    ],
)
def test_changes_are_counted_when_they_happen(metric: Metric, labels: dict[str, str]) -> None:
    assert np.nanmax(values(metric, **labels)) >= 1


def test_a_removed_consumer_ends() -> None:
    gone = values(catalog.CONSUMER_UP, consumer="crm")
    assert np.isnan(gone[-1])
    assert gone[0] == 1


def test_servers_restart_crash_and_one_clock_runs_away() -> None:
    for server in SERVERS:
        started = values(catalog.SERVER_START_TIMESTAMP_SECONDS, server=server)
        assert len(set(started[~np.isnan(started)])) == (3 if server == "n2" else 2)
        assert (values(catalog.SERVER_UP, server=server) == 0).any()
        assert len(series(catalog.SERVER_INFO, server=server)) == 2
    drift = {
        s: np.nanmax(np.abs(values(catalog.SERVER_CLOCK_OFFSET_SECONDS, server=s))) for s in SERVERS
    }
    assert drift["n3"] > thresholds.CLOCK_OFFSET.value
    assert max(drift["n1"], drift["n2"]) < thresholds.CLOCK_OFFSET.value / 10


def test_the_findings_are_recorded() -> None:
    checks = {dict(each.labels)["check"] for each in series(catalog.CONSUMER_CONFIG_FINDING)}
    assert {"max-deliver-unlimited", "no-dead-letter", "recreate-hazard"} <= checks
    assert last(catalog.STREAM_CONFIG_FINDINGS, check="abandoned-kept", stream="INVOICES") == 1
    assert last(catalog.STREAM_CONFIG_FINDINGS, check="no-dead-letter", stream="ORDERS") == 1


def test_findings_are_those_of_the_audit() -> None:
    # A check may raise its severity where a setting is used on purpose.
    known = {(check.code, each): check.subject.value for check in all_checks() for each in Severity}
    for plan in STREAMS:
        assert {known[finding] for finding in plan.findings} <= {"stream"}, plan.name
    for reader in CONSUMERS:
        assert {known[finding] for finding in reader.findings} <= {"consumer"}, reader.name


def test_the_histogram_of_ack_times_is_one() -> None:
    who = {"consumer": "slow"}
    buckets = series("streamgauge_consumer_ack_seconds_bucket", **who)
    bounds = [float(dict(each.labels)["le"]) for each in buckets]
    assert bounds == sorted(bounds)
    assert bounds[-1] == float("inf")
    newest = [each.values[-1] for each in buckets]
    assert newest == sorted(newest)
    assert newest[-1] == last("streamgauge_consumer_ack_seconds_count", **who)
    mean = last("streamgauge_consumer_ack_seconds_sum", **who) / newest[-1]
    assert 5 < mean < 30


def test_a_shorter_history_is_its_end() -> None:
    short = record(make_grid(UNTIL, 6, STEP))
    for each in short.series:
        assert not (each.values < 0).any() or each.name == catalog.SERVER_CLOCK_OFFSET_SECONDS.name
    stuck = [s for s in short.series if ("consumer", "stuck") in s.labels]
    pending = next(s for s in stuck if s.name == catalog.CONSUMER_NUM_PENDING.name)
    assert pending.values[-1] > 500_000


def test_a_histogram_is_not_added_like_a_gauge() -> None:
    recording = Recording(make_grid(UNTIL, 1, STEP))
    with pytest.raises(HistoryError, match="is a histogram"):
        recording.add(catalog.CONSUMER_ACK_SECONDS, ("s", "a", "st", "c"), 1)


def test_the_grid_goes_from_midnight_to_midnight() -> None:
    made = make_grid(UNTIL, 2, STEP)
    assert made.times[0] % DAY == 0
    assert len(made) == 2 * DAY // STEP
    assert made.ago[0] == 2
    assert made.during(2, 1).sum() == DAY // STEP
    assert made.place(1.0) == DAY // STEP


def test_weekends_and_nights_are_quieter() -> None:
    made = make_grid(date(2026, 11, 15), 7, STEP)  # it is a Sunday
    share = season(made, weekend=0.5, night=0.2)
    assert share.max() == pytest.approx(1.0)
    assert share.min() == pytest.approx(0.1)
    assert share[made.since(2)].max() == pytest.approx(0.5)


def test_an_exporter_counts_from_its_own_start() -> None:
    made = make_grid(UNTIL, 60, STEP)
    counted = since_exporter_start(made, np.arange(len(made), dtype=float) + 7)
    place = made.place(MISSING[1])
    assert (counted[0], counted[place], counted[place - 1]) == (0, 0, place - 1)
    assert steps_at(made, 100.0, 30.0, 10.0)[-1] == 2


@pytest.mark.parametrize(
    ("limit", "lost", "pending"),
    [(None, 0, 30), (np.full(4, 20.0), 20, 10), (np.full(4, 100.0), 0, 30)],
)
def test_pending_messages_beyond_the_limit_are_lost(
    limit: Floats | None, lost: float, pending: float
) -> None:
    found = queue(np.full(4, 10.0), np.array([0.0, 0.0, 0.0, 10.0]), limit)
    assert (found.lost[-1], found.pending[-1], found.done[-1]) == (lost, pending, 10)


def test_streams_are_found_by_name() -> None:
    by: Callable[[ConsumerPlan], str] = lambda plan: stream_plan(plan.stream).account  # noqa: E731
    assert {by(plan) for plan in CONSUMERS} == set(ACCOUNTS)


def conditions_of(metric: Metric, subject: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in series(metric):
        labels = dict(each.labels)
        found.setdefault(labels[subject], set()).add(labels["condition"])
    return found


def test_conditions_hold_during_the_incidents_and_nowhere_else() -> None:
    offline = {"replica_offline", "quorum_at_risk"}
    replicated = {plan.name: offline for plan in STREAMS if plan.replicas > 1}
    assert conditions_of(catalog.STREAM_CONDITION_START_TIMESTAMP_SECONDS, "stream") == {
        **replicated,
        "AUDIT_LOG": {"full", *offline},
        "CLICKS": {"no_leader"},
    }
    assert conditions_of(catalog.SERVER_CONDITION_START_TIMESTAMP_SECONDS, "server") == {
        "n1": {"down"},
        "n2": {"down"},
        "n3": {"down", "clock_off"},
    }
    assert conditions_of(catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS, "consumer") == {
        "slow": {"falling_behind"},
        "stuck": {"ack_pending_full", "ack_pending_high", "ack_floor_stuck", "falling_behind"},
        "poison": {"redelivery_loop", "redelivery_high", "messages_abandoned"},
        "mobile": {"not_bound", "falling_behind"},
        "reports": {"losing_messages", "no_worker_pulls", "headroom_low", "falling_behind"},
        "indexer": {"falling_behind"},
    }


def test_a_condition_begins_when_it_is_first_seen_and_the_verdict_is_the_gravest() -> None:
    metric = catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS
    stuck = values(metric, consumer="stuck", condition="ack_pending_full")
    holds = np.flatnonzero(~np.isnan(stuck))
    assert set(stuck[holds]) == {grid().times[holds[0]]}
    assert grid().ago[holds[0]] == pytest.approx(4.6, abs=STEP / DAY)
    for plan in CONSUMERS:
        held = {dict(each.labels)["condition"]: ~np.isnan(each.values)
                for each in series(metric, consumer=plan.name, stream=plan.stream)}  # fmt: skip
        judged = values(catalog.CONSUMER_VERDICT, consumer=plan.name, stream=plan.stream)
        for place in np.flatnonzero(~np.isnan(judged)):
            words = [(word, 0.0) for word in Condition if word in held and held[word][place]]
            wanted = verdict(tuple(words), paused=False, idle=judged[place] == Verdict.IDLE)
            assert judged[place] == wanted, (plan.name, words)


def test_streams_have_owners_and_a_consumer_may_have_its_own() -> None:
    def owners(metric: Metric, **labels: str) -> set[tuple[str, str]]:
        found = [dict(each.labels) for each in series(metric, **labels)]
        return {(each.get("owner_team", ""), each.get("owner_name", "")) for each in found}

    assert owners(catalog.STREAM_INFO, stream="PAYMENTS") == {
        ("payments", "pay-oncall@example.com")
    }
    assert owners(catalog.STREAM_INFO, stream="NOTICES") == {("", "")}
    assert owners(catalog.CONSUMER_INFO, consumer="fraud") == {("payments", "")}
    assert owners(catalog.CONSUMER_INFO, consumer="billing") == {("", "")}
