"""Advice is checked against free storage, and scenarios move the dates."""

from datetime import date
from typing import Any, Final

import pytest
from support.rollups.literal_rollups import LiteralRollups
from support.rollups.report_month import (
    BOTH,
    DATES,
    GIB,
    LAST,
    STREAM,
    forecast,
    healthy,
    report_of,
    rows_of,
)

from exporter import catalog as c
from spark_rollups.report.actions import Action
from spark_rollups.report.facts.assets import Subject
from spark_rollups.report.facts.stores import Growth, Store

# The stream of 40 GiB is expected to hold up to 48 GiB: the advice is 60 GiB, 20 GiB more.
AHEAD: Final = {
    f"level_{h}d_q{q}": level * GIB
    for h, level in ((7, 30.0), (30, 40.0), (90, 48.0))
    for q in (10, 50, 90)
}


def filling(servers: dict[str, float], replicas: int = 1, **info: str) -> LiteralRollups:
    """The stream ORDERS fills up. Servers have 100 GiB and reserve so much; the first lead."""
    rollups = healthy()
    rollups.asof.clear()
    rollups.forecast(LAST, **forecast(**{**DATES, **AHEAD}))
    kept = (c.STREAM_INFO.name, c.SERVER_STORAGE_USED_BYTES.name, c.SERVER_STORAGE_MAX_BYTES.name)
    rollups.rows["daily"] = [row for row in rollups.rows["daily"] if row["metric"] not in kept]
    names = list(servers)
    labels = {
        "discard": "new",
        "retention": "limits",
        "storage": "file",
        "leader": names[0],
        **info,
    }
    rollups.gauge(c.STREAM_INFO, BOTH, 1, labels=labels, **STREAM)
    rollups.gauge(c.STREAM_REPLICAS, BOTH, replicas, **STREAM)
    for name in names[1:replicas]:
        rollups.gauge(c.STREAM_REPLICA_LAG, BOTH, 0, server=name, **STREAM)
    for name, reserved in servers.items():
        server(rollups, name, reserved)
    return rollups


def server(rollups: LiteralRollups, name: str, reserved: float) -> None:
    rollups.gauge(c.SERVER_UP, BOTH, 1, server=name)
    rollups.gauge(c.SERVER_STORAGE_USED_BYTES, BOTH, 50 * GIB, server=name)
    rollups.gauge(c.SERVER_STORAGE_RESERVED_BYTES, BOTH, reserved * GIB, server=name)
    rollups.gauge(c.SERVER_STORAGE_MAX_BYTES, BOTH, 100 * GIB, server=name)
    ahead = {f"level_{h}d_q{q}": (50 + h / 2) * GIB for h in (7, 30, 90) for q in (10, 50, 90)}
    row: dict[str, Any] = {
        "subject": "server", "metric": c.SERVER_STORAGE_USED_BYTES.name, "account": "", "stream": "",
        "server": name, "limit_name": "storage", "level": 50 * GIB, "limit": 100 * GIB, **ahead,
    }  # fmt: skip
    rollups.forecast(LAST, **forecast(**row))


def holding(rollups: LiteralRollups, name: str, used: float) -> None:
    for row in rollups.rows["daily"]:
        if row["metric"] == c.SERVER_STORAGE_USED_BYTES.name and row["server"] == name:
            row.update(dict.fromkeys(("min", "max", "first", "last"), used * GIB))


def another(rollups: LiteralRollups, name: str, day: date, discard: str = "new") -> None:
    """Like ORDERS, on the first server, and full on another day."""
    labels = {"discard": discard, "retention": "limits", "storage": "file", "leader": "n1"}
    stream = {**STREAM, "stream": name}
    rollups.gauge(c.STREAM_UP, BOTH, 1, **stream)
    rollups.gauge(c.STREAM_BYTES, BOTH, 16 * GIB, **stream)
    rollups.gauge(c.STREAM_REPLICAS, BOTH, 1, **stream)
    rollups.gauge(c.STREAM_INFO, BOTH, 1, labels=labels, **stream)
    rollups.forecast(LAST, **forecast(**{**DATES, **AHEAD, **stream, "likely": day}))


def of_stream(rollups: LiteralRollups) -> Action:
    (found,) = [each for each in report_of(rollups).actions if each.code == "CAP-STREAM-FULL-SOON"]
    return found


def plain(action: Action) -> str:
    return " ".join((action.what, *action.checked)).replace("\u00a0", " ")


def test_a_raise_that_fits_names_who_holds_it_and_when_that_is_full() -> None:
    action = of_stream(filling({"n1": 60}))
    assert action.what == "Raise max_bytes of stream ORDERS to 60.0\u00a0GiB"
    # In 90 days the server holds 95 GiB, and the stream 12 GiB less than its new limit.
    assert (
        "Server n1 holds it (40.0 GiB of 100 GiB free to reserve); "
        "with it in use full around 9 Feb 2027." in plain(action)
    )
    assert action.commands[0] == f"nats stream edit ORDERS --max-bytes {60 * 2**30} --dry-run"


def test_a_raise_that_would_overfill_a_server_is_not_advised() -> None:
    action = of_stream(filling({"n1": 85}))
    assert "Do not raise max_bytes to 60.0 GiB: it does not fit." in plain(action)
    assert "Server n1 does not hold it: 20.0 GiB needed, 15.0 GiB of 100 GiB free" in plain(action)
    assert not any("--max-bytes" in command for command in action.commands)
    assert "Set max_age of stream ORDERS" in action.what
    assert "nats stream edit ORDERS --max-age" in action.commands[0]
    assert "Or one server more, like n1" in plain(action)
    assert "No server or account has the storage" in " ".join(
        report_of(filling({"n1": 85})).front.sentences
    )


def test_the_advice_says_what_a_shorter_retention_loses() -> None:
    """16 GiB in 1,000,000 messages at 500,000 a day are two days; 80 % of 10 GiB are one."""
    rollups = filling({"n1": 85})
    rollups.asof.clear()
    rollups.forecast(
        LAST, **forecast(**{**DATES, **AHEAD, "limit": 10 * GIB, "outlook": "reached"})
    )
    stored = c.STREAM_STORED_MESSAGES.name
    rollups.rows["daily"] = [row for row in rollups.rows["daily"] if row["metric"] != stored]
    rollups.counter(c.STREAM_STORED_MESSAGES, BOTH, 500_000, **STREAM)
    (action,) = [each for each in report_of(rollups).actions if each.code == "CAP-STREAM-FULL"]
    assert action.what.replace("\u00a0", " ").startswith("Set max_age of stream ORDERS to 1 d,")
    assert "It keeps about 2 d today" in plain(action)
    assert "removes about 8.00 GiB" in plain(action)


def test_a_work_queue_gets_a_server_more_and_not_a_shorter_retention() -> None:
    action = of_stream(filling({"n1": 85}, retention="workqueue"))
    assert action.what.startswith("Add a server before you raise max_bytes of stream ORDERS")
    assert not any("--max-age" in command for command in action.commands)


def test_a_replicated_stream_moves_to_a_server_that_holds_it() -> None:
    """Its whole new limit is reserved there."""
    servers = {"n1": 85.0, "n2": 50.0, "n3": 50.0, "n4": 41.0}
    rollups = filling(servers, replicas=3)
    holding(rollups, "n4", 20)
    assert "Move" not in of_stream(rollups).what
    rollups = filling({**servers, "n4": 40.0}, replicas=3)
    holding(rollups, "n4", 20)
    action = of_stream(rollups)
    assert action.what.replace("\u00a0", " ") == (
        "Move stream ORDERS from n1 to n4, then raise max_bytes to 60.0 GiB"
    )
    assert action.commands[0] == "nats stream cluster peer-remove ORDERS n1"


def test_each_raise_takes_from_what_the_next_one_finds_free() -> None:
    rollups = filling({"n1": 60})
    for name, day in (("LAST", 9), ("NEXT", 5)):
        another(rollups, name, date(2027, 1, day))
    found = {action.findings[0].subject.stream: action for action in report_of(rollups).actions}
    assert "Server n1 holds it (40.0 GiB of 100 GiB free to reserve);" in plain(found["ORDERS"])
    assert "holds it (20.0 GiB of 100 GiB free to reserve after ORDERS)" in plain(found["NEXT"])
    assert "Server n1 does not hold it: 20.0 GiB needed, 0 B of 100 GiB free" in plain(
        found["LAST"]
    )
    assert not any("--max-bytes" in command for command in found["LAST"].commands)


def test_a_stream_that_is_full_by_design_takes_nothing_from_one_that_must_be_raised() -> None:
    rollups = filling({"n1": 80})
    another(rollups, "LOGS", date(2026, 12, 4), discard="old")
    (action,) = report_of(rollups).actions
    assert action.what == "Raise max_bytes of stream ORDERS to 60.0\u00a0GiB"
    assert "Server n1 holds it (20.0 GiB of 100 GiB free to reserve);" in plain(action)


def test_an_account_counts_every_replica() -> None:
    rollups = filling({"n1": 50, "n2": 50, "n3": 50}, replicas=3)
    tier = {"tier": ""}
    rollups.gauge(c.ACCOUNT_STORAGE_USED_BYTES, BOTH, 48 * GIB, labels=tier, account="APP")
    rollups.gauge(c.ACCOUNT_STORAGE_LIMIT_BYTES, BOTH, 100 * GIB, labels=tier, account="APP")
    action = of_stream(rollups)
    assert "Account APP does not hold it: 60.0 GiB needed, 52.0 GiB of 100 GiB free" in plain(
        action
    )


def test_a_tier_of_an_account_counts_one_replica_of_its_own_streams() -> None:
    """The server multiplies the limit of R3 by three, and reports what three replicas use."""
    rollups = filling({"n1": 50, "n2": 50, "n3": 50}, replicas=3)
    for tier, used, limit in (("R1", 5, 10), ("R3", 48, 40)):
        labels = {"tier": tier}
        rollups.gauge(c.ACCOUNT_STORAGE_USED_BYTES, BOTH, used * GIB, labels=labels, account="APP")
        rollups.gauge(
            c.ACCOUNT_STORAGE_LIMIT_BYTES, BOTH, limit * GIB, labels=labels, account="APP"
        )
    text = plain(of_stream(rollups))
    assert "Raise max_bytes of stream ORDERS" in text
    assert "Account APP, tier R3, holds it (24.0 GiB of 40.0 GiB free to reserve)" in text
    assert "R1" not in text


def test_unknown_placement_is_said() -> None:
    rollups = filling({"n1": 50})
    rollups.rows["daily"] = [
        row for row in rollups.rows["daily"] if row["metric"] != c.STREAM_INFO.name
    ]
    assert "Servers and account of this stream are unknown" in plain(of_stream(rollups))


def test_scenarios_move_the_date_of_a_server() -> None:
    """50 GiB and half a GiB a day; 16 GiB of ORDERS, which grow to 48 in 90 days."""
    row = next(
        row for row in rows_of(report_of(filling({"n1": 50})), "scenarios") if row["server"] == "n1"
    )
    assert row["as_is"] == date(2027, 3, 10)
    assert row["more_growth"] == date(2027, 2, 5)
    assert date(2026, 12, 20) < row["doubled"] < date(2027, 1, 20)
    assert row["server_lost"] == "no other server"


def test_a_server_is_full_on_the_date_of_its_forecast() -> None:
    """Between the days of a forecast levels are only interpolated; more growth is never later."""
    rollups = filling({"n1": 50})
    (row,) = [row for row in rollups.asof[LAST]["forecasts"] if row["server"]]
    row.update(likely=date(2027, 2, 10), outlook="expected")
    (found,) = [row for row in rows_of(report_of(rollups), "scenarios") if row["server"] == "n1"]
    assert found["as_is"] == date(2027, 2, 10)
    assert found["more_growth"] <= found["as_is"]


def behind(rollups: LiteralRollups, days: float, **limits: float) -> Action:
    """billing lost messages when it was so many days behind; ORDERS stores 0.8 GiB a day."""
    rollups.asof.clear()
    lag = c.CONSUMER_LAG_SECONDS
    rollups.rows["daily"] = [row for row in rollups.rows["daily"] if row["metric"] != lag.name]
    rollups.gauge(lag, BOTH, 1, high=days * 86_400, **STREAM, consumer="billing")
    rollups.counter(
        c.CONSUMER_LOST_MESSAGES, BOTH, lambda day: day == 40, **STREAM, consumer="billing"
    )
    for name, limit in limits.items():
        rollups.gauge(getattr(c, name), BOTH, limit, **STREAM)
    (found,) = [each for each in report_of(rollups).actions if each.code == "CON-MESSAGES-LOST"]
    return found


def test_a_limit_for_a_lag_holds_a_quarter_more_than_that_lag() -> None:
    action = behind(filling({"n1": 60}), 60)
    assert action.what.replace("\u00a0", " ") == (
        "Make consumer billing faster, and raise max_bytes to 60.0 GiB of stream ORDERS"
    )
    assert "At 819 MiB a day, 75 d are 60.0 GiB." in plain(action)
    assert "Server n1 holds it (40.0 GiB of 100 GiB free to reserve)" in plain(action)
    assert action.commands[0] == f"nats stream edit ORDERS --max-bytes {60 * 2**30} --dry-run"


def test_all_limits_that_are_too_small_for_a_lag_are_raised_together() -> None:
    action = behind(filling({"n1": 60}), 60, STREAM_MAX_AGE_SECONDS=86_400, STREAM_MAX_MESSAGES=2e6)
    (edit,) = [line for line in action.commands if "--dry-run" in line]
    assert f"--max-age {75 * 24}h --max-bytes {60 * 2**30} --max-msgs 3800000" in edit


def test_a_limit_for_a_lag_that_no_server_holds_is_not_advised() -> None:
    action = behind(filling({"n1": 85}), 60)
    assert action.what == "Make consumer billing faster: ORDERS cannot keep messages longer"
    assert "Do not raise max_bytes to 60.0 GiB: it does not fit." in plain(action)
    assert not any("--max-bytes" in command for command in action.commands)


def test_limits_that_hold_a_lag_are_not_raised() -> None:
    action = behind(filling({"n1": 60}), 10)
    assert action.what == "Keep messages longer, and fix the consumer: billing of ORDERS"


def test_the_sentence_about_scenarios_keeps_the_case_of_a_name() -> None:
    report = report_of(filling({"N1": 50, "N2": 50}))
    (chapter,) = [each for each in report.chapters if each.key == "what-if"]
    text = " ".join(chapter.sentences).replace("\u00a0", " ")
    assert text.startswith("As it grows today, N1 is full first, around 10 Mar 2027; with 50 %")
    assert "more growth, N1 is full first" in text
    assert "doubles, N1 is full first" in text


@pytest.mark.parametrize(("servers", "moves"), [(3, False), (4, True)])
def test_a_lost_server_moves_replicas_only_to_servers_without_one(
    servers: int, moves: bool
) -> None:
    names = {f"n{number}": 60.0 - number for number in range(1, servers + 1)}
    rollups = filling(names, replicas=3)
    holding(rollups, "n1", 55)
    report = report_of(rollups)
    found = {row["server"]: row for row in rows_of(report, "scenarios")}
    assert found["n1"]["server_lost"] == "lost"
    assert found["n2"]["server_lost"] == found["n2"]["as_is"]
    (chapter,) = [each for each in report.chapters if each.key == "what-if"]
    text = " ".join(chapter.sentences)
    if moves:
        assert found["n4"]["server_lost"] < found["n4"]["as_is"]
        assert "Without server n1: 1 stream moves to other servers." in text
    else:
        assert "Without server n1: 1 stream has one replica less" in text


def test_a_store_without_a_forecast_has_no_date() -> None:
    flat = Store(Subject("s", server="n"), "file", "", 50.0, 0.0, 100.0, Growth(((0, 50.0),)))
    assert flat.full_on(date(2026, 11, 30)) is None
    assert not flat.growth.is_known
    rollups = filling({"n1": 50})
    rollups.asof[LAST]["forecasts"] = rollups.asof[LAST]["forecasts"][:1]
    (row,) = [row for row in rows_of(report_of(rollups), "scenarios") if row["server"] == "n1"]
    assert row["as_is"] is None
