"""The four output formats: complete, readable and safe."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as changed
from support.audit.reports import ORDERS, WORKER, audit_context, check, evaluated, muted_consumer

from exporter.audit.check import Check, Finding, Need, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.output.json_format import as_json
from exporter.audit.output.junit_format import junit
from exporter.audit.output.markdown_format import markdown
from exporter.audit.output.system_audit import AuditedSystem, fails
from exporter.audit.output.table_format import MAX_PER_CHECK, WIDTH, table
from exporter.audit.report import FailedSystem, UnknownIgnore
from exporter.audit.severity import Severity

COMMAND = "nats consumer edit STREAM CONSUMER --max-deliver 20 --backoff linear --backoff-steps 5"
LONG = "A sentence that goes on for so long that no terminal of eighty columns could hold it."


def with_texts(made: Check) -> Check:
    return replace(made, why=LONG, remedy=LONG, commands=(COMMAND,))


CRIT = with_texts(check("a-crit", ORDERS, severity=Severity.CRIT))
WARN = with_texts(check("a-warn", WORKER, ORDERS, severity=Severity.WARN))
INFO = with_texts(check("an-info", ORDERS, severity=Severity.INFO))
HISTORY = check("a-history", needs=frozenset({Need.HISTORY}))
PARTLY = check("partly", Unknown(reason="no rate is known", stream="ORDERS"))


def audited(*checks: Check, gaps: tuple[str, ...] = (), context: Any = None) -> AuditedSystem:
    selected = checks or (CRIT, WARN, INFO, HISTORY, PARTLY)
    report = evaluated(context or audit_context(muted_consumer("a-warn", "a-typo")), *selected)
    return AuditedSystem(report, tuple(selected), "account", streams=1, consumers=2, gaps=gaps)


def test_no_line_of_the_table_is_too_wide_but_for_commands() -> None:
    many = [Finding(evidence=LONG, stream=f"A_STREAM_{n}") for n in range(MAX_PER_CHECK + 3)]
    text = table([audited(CRIT, with_texts(check("many", *many)), gaps=(LONG,))], Severity.INFO)
    wide = [line for line in text.splitlines() if len(line) > WIDTH]
    assert all(line.strip().startswith("nats ") for line in wide)
    assert wide, "commands are not wrapped"
    assert "  - and 3 more; --format json lists all" in text.splitlines()


def test_the_table_is_ordered_by_severity() -> None:
    text = table([audited(gaps=("consumer_list (timeout): too late",))], Severity.INFO)
    parts = [
        "nats (account): 1 stream, 2 consumers, 5 checks",
        "1 crit, 1 warn, 1 info; 1 muted",
        "INCOMPLETE: consumer_list (timeout): too late",
        "CRIT  a-crit: A title",
        "WARN  a-warn: A title",
        "  - ORDERS: 1 of 2",
        "INFO  an-info: A title",
        "Muted",
        "  - ORDERS > worker: a-warn, by consumer metadata",
        "Ignored codes that match no check",
        "  - a-typo, in ORDERS > worker",
        "Not evaluated",
        "    settings: a-history",
        "  - no rate is known: partly (1)",
    ]
    place = 0
    for part in parts:
        place = text.index(part + "\n", place)


def test_less_severe_findings_can_be_hidden() -> None:
    text = table([audited()], Severity.CRIT)
    assert "a-crit" in text
    assert "an-info" not in text
    assert "1 crit, 1 warn, 1 info" in text


def test_accounts_are_named_where_there_are_several() -> None:
    other = Finding(evidence="", account="OTHER", stream="ORDERS")
    both = audited(check("a-check", ORDERS, other), context=audit_context())
    assert [both.named(one) for one in both.report.findings] == ["APP: ORDERS", "OTHER: ORDERS"]


def test_json_has_every_finding_with_its_remedy() -> None:
    (system,) = json.loads(as_json([audited()], Severity.INFO))["systems"]
    assert system["counts"] == {"crit": 1, "warn": 1, "info": 1}
    assert [(one["check"], one["muted_by"]) for one in system["findings"]] == [
        ("a-crit", None),
        ("a-warn", None),
        ("a-warn", "consumer metadata"),
        ("an-info", None),
    ]
    worker = system["findings"][2]
    assert worker["commands"] == [COMMAND.replace("STREAM CONSUMER", "ORDERS worker")]
    assert (worker["stream"], worker["consumer"], worker["evidence"]) == (
        "ORDERS",
        "worker",
        "3 of 5",
    )
    assert [one["check"] for one in system["not_evaluated"]] == ["a-history", "partly"]
    assert system["unknown_ignores"] == [{"code": "a-typo", "subject": "ORDERS > worker"}]
    (severe,) = json.loads(as_json([audited()], Severity.CRIT))["systems"]
    assert [one["check"] for one in severe["findings"]] == ["a-crit"]


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        (Severity.INFO, ["a-crit", "a-warn", "an-info"]),
        (Severity.WARN, ["a-crit", "a-warn"]),
        (Severity.CRIT, ["a-crit"]),
        (None, []),
    ],
)
def test_junit_fails_what_the_exit_code_fails(fail_on: Severity | None, failing: list[str]) -> None:
    made = audited(gaps=("one server",))
    (suite,) = ET.fromstring(junit([made], Severity.INFO, fail_on))  # noqa: S314  our own
    cases = {case.get("name"): case for case in suite}
    assert [name for name, case in cases.items() if case.find("failure") is not None] == failing
    assert fails([made], fail_on) is bool(failing)
    assert [name for name, case in cases.items() if case.find("skipped") is not None] == [
        "a-history"
    ]
    assert suite.get("tests") == "6"
    assert suite.get("failures") == str(len(failing))
    assert suite.get("errors") == suite.get("skipped") == "1"


def test_junit_stays_xml_whatever_a_name_holds() -> None:
    hostile = Finding(evidence="\x00\x1b[31m<>&\"'", stream="<S>&\x07")
    text = junit([audited(check("a-check", hostile))], Severity.INFO, Severity.WARN)
    (failure,) = ET.fromstring(text).iter("failure")  # noqa: S314  our own
    assert failure.text is not None
    assert failure.text.startswith("<S>&\\x07: \\x00\\x1b[31m<>&\"'")


def test_markdown_has_a_section_per_check_and_escapes_names() -> None:
    hostile = Finding(evidence="a | b `c` [d](e)", stream="*S* <b>\nnext")
    text = markdown([audited(CRIT, HISTORY, check("bad", hostile))], Severity.INFO)
    assert "## crit: A title (`a-crit`)\n" in text
    assert "```sh\nnats consumer edit ORDERS CONSUMER" in text
    assert "| \\*S\\* \\<b\\>\\\\nnext | a \\| b \\`c\\` \\[d\\](e) |" in text
    assert "## Not evaluated\n" in text


def test_what_is_muted_fails_nothing() -> None:
    muted = audited(check("a-warn", WORKER))
    assert len(muted.report.findings) == 1
    assert not fails([muted], Severity.INFO)


def test_nothing_found_fails_nothing() -> None:
    assert not fails([audited(check("calm"))], Severity.INFO)
    assert table([audited(check("calm"), context=audit_context())], Severity.INFO).splitlines() == [
        "nats (account): 1 stream, 2 consumers, 1 check",
        "0 crit, 0 warn, 0 info; 0 muted",
    ]


FAILED = FailedSystem("west", "system", "statsz failed (connection): no servers available")


def broken(_: AuditContext) -> Iterator[Finding]:
    raise ZeroDivisionError("by nothing")


def test_a_failed_system_is_in_every_report() -> None:
    made = [audited()]
    failed = json.loads(as_json(made, Severity.INFO, [FAILED]))["systems"][1]
    assert (failed["system"], failed["incomplete"]) == ("west", [FAILED.reason])
    assert failed.keys() == json.loads(as_json(made, Severity.INFO))["systems"][0].keys()
    assert (failed["streams"], failed["counts"]["crit"]) == (None, None)
    text = table(made, Severity.INFO, [FAILED])
    assert "west (system): FAILED, nothing was evaluated: statsz failed" in text
    text = markdown(made, Severity.INFO, [FAILED])
    assert "# Audit of west\n\n**Failed, nothing was evaluated:** statsz failed" in text


def test_a_failed_system_is_an_error_in_junit() -> None:
    text = junit([], Severity.INFO, Severity.WARN, [FAILED])
    (suite,) = ET.fromstring(text)  # noqa: S314  our own
    assert (suite.get("name"), suite.get("tests"), suite.get("errors")) == ("west", "1", "1")
    assert [error.get("message") for error in suite.iter("error")] == [FAILED.reason]


def test_a_check_that_breaks_is_an_error_and_has_not_passed() -> None:
    made = audited(check("breaks", find=broken))
    (suite,) = ET.fromstring(junit([made], Severity.INFO, None))  # noqa: S314  our own
    (error,) = suite.findall("testcase[@name='breaks']/error")
    assert "ZeroDivisionError" in error.get("message", "")
    assert (suite.get("errors"), suite.get("skipped")) == ("1", "0")
    (system,) = json.loads(as_json([made], Severity.INFO))["systems"]
    assert [(one["check"], one["broken"]) for one in system["not_evaluated"]] == [("breaks", True)]


def test_no_name_reaches_a_terminal_as_a_control_code() -> None:
    codes = "\x1b]0;owned\x07\x9b2J\u202e\x7f\r"
    hostile = Finding(evidence=codes, account="A", stream=f"S{codes}", consumer=codes)
    made = audited(with_texts(check("a-check", hostile)), gaps=(codes,))
    made = replace(
        made, report=replace(made.report, unknown_ignores=(UnknownIgnore(codes, codes),))
    )
    failed = [FailedSystem("west", "system", codes)]
    for text in (
        table([made], Severity.INFO, failed),
        markdown([made], Severity.INFO, failed),
        junit([made], Severity.INFO, Severity.WARN, failed),
        as_json([made], Severity.INFO, failed),
    ):
        assert all(line.isprintable() for line in text.split("\n"))
    finding = json.loads(as_json([made], Severity.INFO))["systems"][0]["findings"][0]
    assert finding["evidence"] == codes, "JSON holds the unchanged name"


def test_the_code_of_a_mute_is_no_markup() -> None:
    made = audited(check("calm"))
    made = replace(
        made, report=replace(made.report, unknown_ignores=(UnknownIgnore("`<b>`", "ORDERS"),))
    )
    assert "- \\`\\<b\\>\\`, in ORDERS\n" in markdown([made], Severity.INFO)


def test_what_the_servers_defaults_give_is_one_line() -> None:
    usual = replace(check("a-default", ORDERS, WORKER, severity=Severity.INFO), default=True)
    report = evaluated(audit_context(), usual, check("b-check", ORDERS, severity=Severity.INFO))
    made = AuditedSystem(report, (usual,), "account", 1, 1)
    line = "Server defaults: a-default (2). For details: --only CODE"
    assert line in table([made], Severity.INFO)
    assert "INFO  a-default" not in table([made], Severity.INFO)
    assert "INFO  b-check" in table([made], Severity.INFO)
    assert "a-default (2). For details" in markdown([made], Severity.INFO)
    assert "Server defaults" not in table([made], Severity.WARN)
    assert "INFO  a-default" in table([replace(made, details=True)], Severity.INFO)


def test_a_finding_may_be_more_or_less_severe_than_its_check() -> None:
    worse = changed(ORDERS, severity=Severity.CRIT)
    report = evaluated(audit_context(), check("a-check", WORKER, worse, severity=Severity.INFO))
    made = AuditedSystem(report, (), "account", 1, 1)
    assert [one.severity for one in report.findings] == [Severity.CRIT, Severity.INFO]
    assert table([made], Severity.INFO).count("CRIT  a-check") == 1
    assert fails([made], Severity.CRIT)
    assert [
        one["severity"]
        for one in json.loads(as_json([made], Severity.INFO))["systems"][0]["findings"]
    ] == ["crit", "info"]
