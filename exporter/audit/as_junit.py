"""A report for pipelines that show test results: a check is a test case. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from exporter.audit.audited import Audited
from exporter.audit.check import Check, Severity
from exporter.audit.remedy import commands_for
from exporter.audit.report import Told


def junit(audits: Iterable[Audited], least: Severity, fail_on: Severity | None) -> str:
    """What is found fails its case only when it is as grave as --fail-on says."""
    root = ET.Element("testsuites", name="streamgauge audit")
    for audited in audits:
        root.append(_suite(audited, least, fail_on))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _suite(audited: Audited, least: Severity, fail_on: Severity | None) -> ET.Element:
    shown = audited.shown(least)
    lacks = {one.check.code: one.reason for one in audited.report.not_done if not one.subjects}
    suite = ET.Element("testsuite", name=audited.report.system)
    for check in audited.checks:
        suite.append(_case(audited, check, shown.get(check, []), lacks.get(check.code), fail_on))
    for gap in audited.gaps:
        case = ET.SubElement(suite, "testcase", name="everything is answered", classname="audit")
        ET.SubElement(case, "error", message=_clean(gap))
    suite.set("tests", str(len(suite)))
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(plural, str(len(suite.findall(f"testcase/{kind}"))))
    return suite


def _case(
    audited: Audited,
    check: Check,
    told: Sequence[Told],
    lack: str | None,
    fail_on: Severity | None,
) -> ET.Element:
    case = ET.Element("testcase", name=check.code, classname=f"audit.{check.subject}")
    if lack is not None:
        ET.SubElement(case, "skipped", message=_clean(lack))
    elif told:
        fails = fail_on is not None and check.severity.rank <= fail_on.rank
        number = f"{len(told)} found" if len(told) > 1 else audited.named(told[0])
        text = ET.SubElement(case, "failure" if fails else "system-out")
        if fails:
            text.set("type", check.severity.value)
            text.set("message", _clean(f"{check.title}: {number}"))
        text.text = _clean(_text(audited, check, told))
    return case


def _text(audited: Audited, check: Check, told: Sequence[Told]) -> str:
    lines = [f"{audited.named(one)}: {one.finding.evidence}" for one in told]
    return "\n".join([*lines, check.remedy, *commands_for(check, told[0].finding)])


def _clean(text: str) -> str:
    """Without what no XML may hold, not even escaped: a description may hold anything."""
    return "".join(char if char in "\t\n" or char.isprintable() else "?" for char in text)
