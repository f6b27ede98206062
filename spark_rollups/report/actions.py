"""Actions: findings that need work, one per cause, in the order of their dates.

What is true at the end of the data and cannot wait is due today.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import Name, Subject
from spark_rollups.report.facts.events import CurrentState
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.owners import Owner, Owners
from spark_rollups.report.facts.stores import Stores
from spark_rollups.report.findings.finding import Finding, Severity, by_urgency
from spark_rollups.report.formatting import Level

_TOGETHER = timedelta(days=14)  # servers that fill within this time have one cause
_DRIVES = 0.5  # a stream that is this share of its account's growth is the cause
_SOON = timedelta(days=7)  # for a consumer that is unwell at the end
_COMMANDS = 8
_SERVERS = ("CAP-SERVER-FULL-SOON", "CAP-SERVER-STORAGE-HIGH")
_ACCOUNTS = ("CAP-ACCOUNT-FULL-SOON", "CAP-ACCOUNT-HIGH")
_STREAMS = ("CAP-STREAM-FULL", "CAP-STREAM-FULL-SOON")
_FULL = ("CAP-STREAM-FULL", "CAP-SERVER-STORAGE-HIGH")
_CONFIGURATION = "CFG-AUDIT"
# The finding that names the action of a consumer: the first that it has.
_CONSUMER_ORDER = (
    "CON-MESSAGES-LOST", "CON-NOT-WELL", "CON-HEADROOM-LOW", "CON-LAG-WORSE",
    "SIZE-ACK-WAIT-SHORT", "CON-REDELIVERY-HIGH", "CON-MESSAGES-ABANDONED",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Action:
    by: date | None  # None: today
    level: Level
    what: str
    where: str
    why: str  # why then
    otherwise: str  # what happens if not
    owner: Owner
    checked: tuple[str, ...]  # which server and account hold the advised limit
    commands: tuple[str, ...]
    findings: tuple[Finding, ...]
    urgency: float = 0.0  # among those of one day the largest comes first

    @property
    def due(self) -> str:
        return "today" if self.by is None else f"by {fmt.day(self.by)}"

    @property
    def code(self) -> str:
        """Of the finding that gave the action its name."""
        return self.findings[0].code


@dataclass(frozen=True, slots=True)
class _Context:
    facts: Facts
    now: CurrentState
    owners: Owners
    stores: Stores
    today: date
    growth: Mapping[Name, float]  # bytes per day of streams; those of accounts have no stream


def actions_of(
    facts: Facts, findings: Sequence[Finding], now: CurrentState, owners: Owners, stores: Stores,
    made: date,
) -> tuple[Action, ...]:  # fmt: skip
    # A report that is made days after its newest data: what was due then is due now.
    recent = timedelta(0) <= made - facts.as_of <= timedelta(days=14)
    growth: dict[Name, float] = defaultdict(float)
    for each in facts.forecasts:
        if each.is_bytes and not each.server:
            growth[each.asset] = max(growth[each.asset], each.growth_per_day or 0.0)
    context = _Context(facts, now, owners, stores, made if recent else facts.as_of, growth)
    needed = [each for each in findings if each.severity is not Severity.NOTE]
    return tuple(
        sorted((_action(context, group) for group in _causes(context, needed)), key=_order)
    )


def with_dates_and_owners(
    findings: Sequence[Finding], actions: Sequence[Action], owners: Owners, as_of: date
) -> tuple[Finding, ...]:
    """A finding has the date of its action: the page names one date for one thing."""
    due = {id(each): action.by or as_of for action in actions for each in action.findings}
    return by_urgency(
        replace(each, by=due.get(id(each), each.by), owner=owners.of(each.owned).name)
        for each in findings
    )


def _order(action: Action) -> tuple[date, int, float, str, tuple[str, ...]]:
    lead = action.findings[0]
    return (action.by or date.min, -action.level, -action.urgency, lead.code, lead.subject.parts)


# --- one cause -------------------------------------------------------------------------------------


def _causes(context: _Context, findings: Sequence[Finding]) -> list[list[Finding]]:
    groups: dict[Hashable, list[Finding]] = defaultdict(list)
    servers: dict[Hashable, list[Finding]] = defaultdict(list)
    accounts = {each.subject.stream_name[:2] for each in findings if each.code in _ACCOUNTS}
    for each in findings:
        if each.code in _SERVERS:
            servers[each.subject.system, each.storage].append(each)
        else:
            groups[_cause(context, each, accounts)].append(each)
    together = [group for found in servers.values() for group in _filling_together(found)]
    return [*groups.values(), *together]


def _cause(context: _Context, each: Finding, accounts: set[Name]) -> Hashable:
    subject, account = each.subject, each.subject.stream_name[:2]
    if each.code in _ACCOUNTS:
        return ("account", account)
    if each.code in _STREAMS:
        drives = account in accounts and _drives_account(context, subject)
        return ("account", account) if drives else ("stream", subject)
    if each.code == _CONFIGURATION:
        return ("configuration", context.owners.of(each.owned).name)
    if subject.consumer:
        return ("consumer", subject)
    if subject.stream:
        return (each.code.partition("-")[0], account, subject.stream)
    return (each.code, subject.system)


def _drives_account(context: _Context, subject: Subject) -> bool:
    """Whether the stream is at least half of the growth of its account."""
    stream = subject.stream_name
    replicas = int(context.facts.stream_info.get(stream, {}).get("replicas") or 1)
    whole = context.growth.get((*stream[:2], ""), 0.0)
    return whole <= 0 or context.growth.get(stream, 0.0) * replicas >= _DRIVES * whole


def _filling_together(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings of one server belong together, and servers whose dates are close."""
    groups: list[list[Finding]] = []
    for each in sorted(findings, key=lambda found: found.by or date.min):
        for group in groups:
            same = any(other.subject == each.subject for other in group)
            if same or (each.by or date.min) - (group[0].by or date.min) <= _TOGETHER:
                group.append(each)
                break
        else:
            groups.append([each])
    return groups


# --- the action ------------------------------------------------------------------------------------


def _action(context: _Context, group: Sequence[Finding]) -> Action:
    ordered = sorted(group, key=_first)
    lead = ordered[0]
    index = context.facts.consumers.now.position(lead.subject.labels[:4])
    by, why = _due(context, ordered, index)
    what, checked = _what(context, ordered, index)
    owners = (context.owners.of(each.owned) for each in ordered)
    # Commands are those of the first finding; of the configuration those of all checks.
    advised = next((each for each in ordered if each.advice is not None), lead)
    wanted = ordered if lead.code == _CONFIGURATION else [advised]
    commands = dict.fromkeys(line for each in wanted for line in each.commands)
    return Action(
        by=by,
        level=Level.CRITICAL if by is None else max(each.level for each in ordered),
        what=what,
        where=_where(context, ordered),
        why=why,
        otherwise=lead.definition.otherwise or lead.definition.why,
        owner=next((each for each in owners if each.name), Owner()),
        checked=checked,
        commands=tuple(commands)[:_COMMANDS],
        findings=tuple(ordered),
        urgency=0.0 if index is None else context.now.urgency(index),
    )


def _first(each: Finding) -> tuple[int, date, int]:
    """The order within a cause: what names a consumer's action, else the earliest date."""
    if each.code in _CONSUMER_ORDER:
        return (_CONSUMER_ORDER.index(each.code), date.min, 0)
    return (len(_CONSUMER_ORDER), each.by or date.max, -each.level)


def _due(context: _Context, group: Sequence[Finding], index: int | None) -> tuple[date | None, str]:
    """By when, and why then."""
    as_of, now, summary = context.facts.as_of, context.now, group[0].summary
    for each in group:
        if each.code in _FULL or (each.advice is not None and each.by == as_of):
            return None, each.summary
    by = min((each.by for each in group if each.by is not None), default=None)
    if index is not None:
        if now.is_urgent(index):
            behind = f", {fmt.span(now.lag[index])} behind" if now.lag[index] > 0 else ""
            return None, f"On {fmt.day(as_of)}: {now.text(index)}{behind}. {summary}"
        if (day := now.last_loss[index]) is not None:
            over = f"The last loss was on {fmt.day(day)}; publishers and backups have them only for a while."
            return None, f"{summary} {over}"
        if by is not None and now.is_bad(index):
            by = min(by, as_of + _SOON)
    if by is None or by <= context.today:
        return None, summary
    days = fmt.plural((by - as_of).days, "day")
    reason = f"Within {days} of {fmt.day(as_of)}, the newest day with data."
    if any(each.code.startswith("CAP-") and each.by == by for each in group):
        reason = "A week before the earliest date: orders and approvals take time."
    return by, f"{summary} {reason}"


def _what(
    context: _Context, group: Sequence[Finding], index: int | None
) -> tuple[str, tuple[str, ...]]:
    """An instruction, and what was checked for it."""
    lead, subject = group[0], group[0].subject
    advice = next((each.advice for each in group if each.advice is not None), None)
    if index is not None and (state := context.now.text(index)):
        checked = () if advice is None else (f"{advice.what}.", *advice.checked)
        return f"Fix consumer {subject.consumer} of {subject.stream}: {state}", checked
    if advice is not None:
        return advice.what, advice.checked
    names = sorted({each.subject.name for each in group})
    if lead.code in _SERVERS:
        added = "memory" if lead.storage == "memory" else "storage"
        what = f"Add {added} to {fmt.listed(names)}, or one server more"
        return what, _server_checks(context, names, lead.storage)
    if any(each.code in _ACCOUNTS for each in group):
        return f"{lead.definition.action}: {subject.account}", _largest_of(context, subject)
    if lead.code == _CONFIGURATION:
        checks = [str(each.evidence[0].value) for each in group]
        number = fmt.plural(len(checks), "check fails", "checks fail")
        return f"Fix the configuration: {number} ({fmt.listed(checks, shown=4)})", ()
    called = fmt.listed(names) if any(each.subject.parts for each in group) else ""
    if subject.consumer:
        called = f"{subject.consumer} of {subject.stream}"
    return ": ".join(filter(None, (lead.definition.action, called))), ()


def _server_checks(context: _Context, servers: Sequence[str], storage: str) -> tuple[str, ...]:
    as_of, found = context.facts.forecasts_as_of or context.facts.as_of, []
    for store in context.stores.servers:
        if store.subject.server in servers and store.storage == storage:
            more = max(store.growth.at(180) - store.limit, 0.0)
            need = f"; for half a year it needs {fmt.bytes_text(more)} more" if more else ""
            found.append(
                f"Server {store.subject.server}: {fmt.bytes_text(store.used)} of "
                f"{fmt.bytes_text(store.limit)}, full {store.full_text(store.full_on(as_of))}{need}."
            )
    return tuple(found[:3])


def _largest_of(context: _Context, subject: Subject) -> tuple[str, ...]:
    """The streams that grow most in the account."""
    growing = (
        (growth, name[2])
        for name, growth in context.growth.items()
        if name[2] and name[:2] == (subject.system, subject.account) and growth > 0
    )
    return tuple(
        f"Stream {stream} grows by {fmt.bytes_text(growth)} a day."
        for growth, stream in sorted(growing, reverse=True)[:2]
    )


def _where(context: _Context, group: Sequence[Finding]) -> str:
    subject = group[0].subject
    if len({each.subject for each in group}) == 1:
        return context.facts.path(subject.parts) or subject.name
    parents = {each.subject.parts[:-1] for each in group}
    shared = context.facts.path(subject.parts[:-1]) if len(parents) == 1 else ""
    called = (each.subject.name if each.subject.parts[1:] else "several streams" for each in group)
    names = fmt.listed(list(dict.fromkeys(called)), shown=5)
    return f"{shared}: {names}" if shared else names
