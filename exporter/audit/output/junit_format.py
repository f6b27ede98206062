"""A report for pipelines that show test results: a check is a test case. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from exporter.audit.check import Check, Severity
from exporter.audit.output.printed_commands import printed_commands
from exporter.audit.output.system_audit import Audited
from exporter.audit.report import NotDone, Told, Unanswered
from streamgauge.serving.log_escape import one_line


def junit(
    audits: Iterable[Audited],
    least: Severity,
    fail_on: Severity | None,
    unanswered: Sequence[Unanswered] = (),
) -> str:
    """What is found fails its case only when it is as grave as --fail-on says."""
    root = ET.Element("testsuites", name="streamgauge audit")
    for audited in audits:
        root.append(_suite(audited, least, fail_on))
    for silent in unanswered:
        suite = ET.SubElement(root, "testsuite", name=one_line(silent.system))
        _not_answered(suite, silent.reason)
        _count(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _suite(audited: Audited, least: Severity, fail_on: Severity | None) -> ET.Element:
    shown = audited.shown(least)
    lacks = {one.check.code: one for one in audited.report.not_done if not one.subjects}
    suite = ET.Element("testsuite", name=one_line(audited.report.system))
    for check in audited.checks:
        suite.append(_case(audited, check, shown.get(check, []), lacks.get(check.code), fail_on))
    for gap in audited.gaps:
        _not_answered(suite, gap)
    _count(suite)
    return suite


def _not_answered(suite: ET.Element, reason: str) -> None:
    case = ET.SubElement(suite, "testcase", name="everything is answered", classname="audit")
    ET.SubElement(case, "error", message=one_line(reason))


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite)))
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(plural, str(len(suite.findall(f"testcase/{kind}"))))


def _case(
    audited: Audited,
    check: Check,
    told: Sequence[Told],
    lack: NotDone | None,
    fail_on: Severity | None,
) -> ET.Element:
    case = ET.Element("testcase", name=check.code, classname=f"audit.{check.subject}")
    if lack is not None:
        # A check that broke found nothing because it did not look: not the same as to leave it.
        kind = "error" if lack.broken else "skipped"
        ET.SubElement(case, kind, message=one_line(lack.reason))
    elif told:
        fails = fail_on is not None and check.severity.rank <= fail_on.rank
        number = f"{len(told)} found" if len(told) > 1 else audited.named(told[0])
        text = ET.SubElement(case, "failure" if fails else "system-out")
        if fails:
            text.set("type", check.severity.value)
            text.set("message", one_line(f"{check.title}: {number}"))
        text.text = _text(audited, check, told)
    return case


def _text(audited: Audited, check: Check, told: Sequence[Told]) -> str:
    """Every line escaped: no XML may hold a control character, and names may hold any."""
    lines = [one_line(f"{audited.named(one)}: {one.finding.evidence}") for one in told]
    return "\n".join([*lines, check.remedy, *printed_commands(check, told[0].finding)])
