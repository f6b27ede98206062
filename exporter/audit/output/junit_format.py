"""The report as JUnit XML: one test case per check. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from exporter.audit.check import Check
from exporter.audit.output.printed_commands import printed_commands
from exporter.audit.output.system_audit import AuditedSystem
from exporter.audit.report import FailedSystem, NotEvaluated, ReportedFinding
from exporter.audit.severity import Severity
from streamgauge.serving.log_escape import one_line


def junit(
    audits: Iterable[AuditedSystem],
    min_severity: Severity,
    fail_on: Severity | None,
    failed: Sequence[FailedSystem] = (),
) -> str:
    """Findings fail their test case if their severity is at least `fail_on`."""
    root = ET.Element("testsuites", name="streamgauge audit")
    for audited in audits:
        root.append(_suite(audited, min_severity, fail_on))
    for one in failed:
        suite = ET.SubElement(root, "testsuite", name=one_line(one.system))
        _incomplete_case(suite, one.reason)
        _count(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _suite(audited: AuditedSystem, min_severity: Severity, fail_on: Severity | None) -> ET.Element:
    shown = audited.shown(min_severity)
    not_evaluated = {
        one.check.code: one for one in audited.report.not_evaluated if not one.subjects
    }
    suite = ET.Element("testsuite", name=one_line(audited.report.system))
    for check in audited.checks:
        suite.append(
            _case(audited, check, shown.get(check, []), not_evaluated.get(check.code), fail_on)
        )
    for gap in audited.gaps:
        _incomplete_case(suite, gap)
    _count(suite)
    return suite


def _incomplete_case(suite: ET.Element, reason: str) -> None:
    case = ET.SubElement(suite, "testcase", name="complete data", classname="audit")
    ET.SubElement(case, "error", message=one_line(reason))


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite)))
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(plural, str(len(suite.findall(f"testcase/{kind}"))))


def _case(
    audited: AuditedSystem,
    check: Check,
    findings: Sequence[ReportedFinding],
    not_evaluated: NotEvaluated | None,
    fail_on: Severity | None,
) -> ET.Element:
    case = ET.Element("testcase", name=check.code, classname=f"audit.{check.subject}")
    if not_evaluated is not None:
        kind = "error" if not_evaluated.broken else "skipped"
        ET.SubElement(case, kind, message=one_line(not_evaluated.reason))
    elif findings:
        worst = min((one.severity for one in findings), key=lambda one: one.rank)
        fails = fail_on is not None and worst.rank <= fail_on.rank
        number = f"{len(findings)} found" if len(findings) > 1 else audited.named(findings[0])
        text = ET.SubElement(case, "failure" if fails else "system-out")
        if fails:
            text.set("type", worst.value)
            text.set("message", one_line(f"{check.title}: {number}"))
        text.text = _text(audited, check, findings)
    return case


def _text(audited: AuditedSystem, check: Check, findings: Sequence[ReportedFinding]) -> str:
    """Escaped: names may hold control characters, which XML does not allow."""
    lines = [one_line(f"{audited.named(one)}: {one.finding.evidence}") for one in findings]
    return "\n".join([*lines, check.remedy, *printed_commands(check, findings[0].finding)])
