"""Renders findings as HTML: actions for the first page, then each code with evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import Level
from spark_rollups.report.findings.finding import LEVELS, Finding
from spark_rollups.report.rendering.html_tables import CLASSES, Page, mark
from spark_rollups.report.rendering.markup import escaped

_ACTIONS = 7  # lines on the first page
_SUBJECTS = 10  # per code, in the chapter on findings
_COMMANDS = 3  # subjects with commands


@dataclass(frozen=True, slots=True)
class Group:
    """All findings of one code, the most severe first."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def level(self) -> Level:
        return LEVELS[self.first.severity]


def grouped(findings: Sequence[Finding]) -> list[Group]:
    """Groups by code; expects sorted findings."""
    codes: dict[str, list[Finding]] = {}
    for finding in findings:
        codes.setdefault(finding.code, []).append(finding)
    return [Group(tuple(found)) for found in codes.values()]


def actions_html(findings: Sequence[Finding]) -> str:
    """One line per code that needs action."""
    groups = [group for group in grouped(findings) if group.level is not Level.NORMAL]
    # By severity; within one, capacity comes first: it takes time and money.
    groups.sort(key=lambda group: (-group.level, not group.first.code.startswith("CAP-")))
    if not groups:
        return '<p class="empty">No action is needed.</p>'
    lines = "".join(_action(group) for group in groups[:_ACTIONS])
    more = (
        f'<p class="more">And {fmt.plural(len(groups) - _ACTIONS, "more kind")} of findings below.</p>'
        if len(groups) > _ACTIONS
        else ""
    )
    return f'<ol class="actions">{lines}</ol>{more}'


def _action(group: Group) -> str:
    grave = [finding for finding in group.findings if LEVELS[finding.severity] is not Level.NORMAL]
    days = [finding.by for finding in grave if finding.by is not None]
    by = f"by {fmt.day(min(days))}" if days else "when you can"
    names = fmt.listed(list(dict.fromkeys(finding.subject.name for finding in grave)))
    return (
        f'<li class="{CLASSES[group.level]}"><span class="by">{mark(group.level)}{escaped(by)}</span>'
        f'<span><a href="#{escaped(group.first.code)}">{escaped(group.first.definition.action)}</a>: '
        f"{escaped(names)}</span></li>"
    )


def findings_html(findings: Sequence[Finding], page: Page) -> str:
    if not findings:
        return '<p class="empty">No findings. See data quality for what is unknown.</p>'
    return "".join(_group(group, page) for group in grouped(findings))


def _group(group: Group, page: Page) -> str:
    definition = group.first.definition
    shown = group.findings[:_SUBJECTS]
    hidden = len(group.findings) - len(shown)
    more = (
        f'<p class="more">And {hidden:,} more in <code>{escaped(page.files)}/findings.csv</code>.</p>'
        if hidden
        else ""
    )
    items = "".join(_item(finding, page) for finding in shown)
    return (
        f'<article class="finding {CLASSES[group.level]}" id="{escaped(definition.code)}">'
        f"<h3>{mark(group.level)}{escaped(definition.title)} "
        f"<small>{escaped(definition.code)}</small></h3><ul>{items}</ul>{more}"
        f'<p class="why">{escaped(definition.why)} {escaped(definition.remedy)}{_runbook(group)}</p>'
        f"{_commands(shown)}</article>"
    )


def _runbook(group: Group) -> str:
    name = group.first.definition.runbook
    return f" See the runbook {escaped(name)}." if name else ""


def _item(finding: Finding, page: Page) -> str:
    by = f' <span class="by">by {escaped(fmt.day(finding.by))}</span>' if finding.by else ""
    facts = "".join(
        f"<div><dt>{escaped(each.name)}</dt><dd>{escaped(each.text)}</dd></div>"
        for each in finding.evidence
    )
    path = finding.subject.parts[1:-1] if page.one_system else finding.subject.parts[:-1]
    where = f" <small>{escaped(' / '.join(path))}</small>" if path else ""
    return (
        f'<li class="{CLASSES[LEVELS[finding.severity]]}"><p>{mark(LEVELS[finding.severity])}'
        f"{escaped(finding.summary)}{where}{by}</p>{f'<dl>{facts}</dl>' if facts else ''}</li>"
    )


def _commands(findings: Sequence[Finding]) -> str:
    lines = list(
        dict.fromkeys(line for finding in findings[:_COMMANDS] for line in finding.commands)
    )
    return f"<pre><code>{escaped(chr(10).join(lines))}</code></pre>" if lines else ""
