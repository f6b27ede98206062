"""The owner's schedule of workers."""

from datetime import UTC, datetime

import pytest

from exporter.idle_schedule import IdleSchedule, parse_cron


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


# 2026-11-18 is a Wednesday.
@pytest.mark.parametrize(
    ("cron", "now", "since"),
    [
        ("* 8-17 * * mon-fri", "2026-11-18T09:30:30", "2026-11-18T08:00:00"),
        ("* 8-17 * * mon-fri", "2026-11-18T17:59:59", "2026-11-18T08:00:00"),
        ("* 8-17 * * mon-fri", "2026-11-18T18:00:00", None),
        ("* 8-17 * * mon-fri", "2026-11-21T09:30:00", None),
        ("* 8-17 * * 1-5", "2026-11-18T08:00:00", "2026-11-18T08:00:00"),
        ("0-29 * * * *", "2026-11-18T09:29:59", "2026-11-18T09:00:00"),
        ("0-29 * * * *", "2026-11-18T09:30:00", None),
        ("*/2 * * * *", "2026-11-18T09:31:00", None),
        ("*/2 * * * *", "2026-11-18T09:32:10", "2026-11-18T09:32:00"),
        ("* * * * 7", "2026-11-22T00:01:00", "2026-11-22T00:00:00"),
        ("* * 18,19 nov *", "2026-11-18T00:02:00", "2026-11-18T00:00:00"),
        ("* * * * *", "2026-11-18T09:00:00", "2026-11-17T09:00:00"),
    ],
)
def test_a_worker_is_expected_since_the_begin_of_the_matching_minutes(
    cron: str, now: str, since: str | None
) -> None:
    schedule = parse_cron(cron)
    assert schedule is not None
    assert schedule.expected_since(at(now)) == (at(since) if since else None)


def test_a_pause_expects_a_worker_at_any_time() -> None:
    assert IdleSchedule(pause_seconds=60.0).expected_since(at("2026-11-18T09:00:00")) == 0.0


@pytest.mark.parametrize(
    "text", ["", "* * * *", "60 * * * *", "5-1 * * * *", "*/0 * * * *", "* * 0 * *", "* * * x *",
             "* * * * 8", "1, * * * *", "- * * * *"],
)  # fmt: skip
def test_what_is_no_cron_expression_is_refused(text: str) -> None:
    assert parse_cron(text) is None
