"""Capacity: limits that are reached or will be, and advice checked against free storage."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np

from alerts import thresholds as t
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import Name, Subject
from spark_rollups.report.facts.columns import tier_replicas
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import (
    HORIZON_DAYS,
    Growth,
    Raise,
    Store,
    Stores,
    discards_old,
    growth_of,
    is_near,
    most_urgent_first,
)
from spark_rollups.report.findings.finding import (
    Advice,
    Finding,
    Severity,
    findings_of,
    make_finding,
)
from spark_rollups.report.formatting import amount

# Act this long before the earliest date: orders, approvals and disks take time.
_LEAD = timedelta(days=7)


def capacity_findings(facts: Facts, stores: Stores) -> Iterator[Finding]:
    # The first raise is checked first, and those that only may be needed last.
    urgent = most_urgent_first(facts.forecasts)
    for each in sorted(urgent, key=lambda each: _severity(facts, each) is Severity.NOTE):
        if each.fills and each.level is not None and each.limit is not None:
            yield from _of_forecast(facts, stores, each)
    yield from _unknown_dates(facts)
    for storage in ("storage", "memory"):
        what = "file" if storage == "storage" else storage
        yield from _high("CAP-SERVER-STORAGE-HIGH", facts, "servers", storage, what)
    for storage in ("storage", "memory"):
        yield from _high("CAP-ACCOUNT-HIGH", facts, "accounts", storage, storage)


def _of_forecast(facts: Facts, stores: Stores, each: Forecast) -> Iterator[Finding]:
    severity, by = _severity(facts, each), None
    code = f"CAP-{each.subject.upper()}-FULL-SOON"
    if each.outlook == Outlook.REACHED:
        if not each.stream or discards_old(facts, each):
            return
        code, severity, by = "CAP-STREAM-FULL", Severity.CRITICAL, each.as_of
    elif severity is not Severity.NOTE:
        by = max((each.earliest or each.likely or each.as_of) - _LEAD, each.as_of)
    level, limit, growth = (
        amount(value, each.is_bytes) for value in (each.level, each.limit, each.growth_per_day)
    )
    yield make_finding(
        code, Subject(each.system, each.account, each.stream, "", each.server), each.as_of,
        severity=severity, by=by, weight=(each.level or 0.0) / (each.limit or 1.0),
        advice=stream_advice(facts, stores, each) if each.stream else None,
        kind=each.subject, level=level, limit=limit, growth=growth, error=each.error,
        earliest=each.earliest, likely=each.likely, latest=each.latest,
        only_possible=each.outlook == Outlook.WATCH, drops=discards_old(facts, each),
        storage="memory" if each.limit_name == "memory" else "file",
    )  # fmt: skip


def _severity(facts: Facts, each: Forecast) -> Severity:
    """Critical within the horizon of the alert; a note if only possible, or full by design."""
    if each.outlook == Outlook.WATCH or discards_old(facts, each):
        return Severity.NOTE
    return Severity.CRITICAL if is_near(facts, each) else Severity.WARNING


def _unknown_dates(facts: Facts) -> Iterator[Finding]:
    """One finding for all of them; the table of limits lists each."""
    dateless = [each for each in facts.forecasts if each.outlook == Outlook.UNKNOWN]
    if dateless:
        yield make_finding(
            "CAP-FORECAST-UNKNOWN", Subject(), facts.as_of, limits=len(dateless),
            names=sorted(each.name for each in dateless),
            reasons=sorted({each.reason for each in dateless}),
        )  # fmt: skip


def _high(code: str, facts: Facts, kind: str, storage: str, what: str) -> Iterator[Finding]:
    pair, server = facts.pair(kind), kind == "servers"
    fill, limit = pair[f"{storage}_fill"], pair[f"{storage}_limit"]
    high = fill > facts.threshold(t.SERVER_STORAGE_RATIO)
    if not server:
        high = np.isfinite(fill) & (fill >= facts.threshold(t.ACCOUNT_HIGH_RATIO))
    critical = server | (fill >= facts.threshold(t.ACCOUNT_FULL_RATIO))
    return findings_of(
        code, facts, kind, high, fill, used=pair[f"{storage}_bytes"] / tier_replicas(pair.now), limit=limit, fill=fill, what=what,
        storage=what, severity=np.where(critical, Severity.CRITICAL, Severity.WARNING),
    )  # fmt: skip


_DAY = 86_400.0
_GIB, _MIB = 1 << 30, 1 << 20
_AHEAD = (0, 7, 30, 90, HORIZON_DAYS)
_MORE = 1.25  # above the highest expected level, so that the next report does not repeat it
_AIM = 0.8  # a shorter retention leaves a fifth of the limit free
_LEAST_AGE = 3600.0  # a shorter retention is no advice


class _Holder(NamedTuple):
    """A server or an account that would hold a raise."""

    store: Store
    wanted: Raise
    free: float
    others: tuple[str, ...]  # streams that are raised before it
    full: date | None  # with all raises in use; None: not within a year, or unknown

    @property
    def holds(self) -> bool:
        return self.wanted.needed <= self.free

    @property
    def sentence(self) -> str:
        store = self.store
        tier = f", tier {store.tier}," if store.tier else ""
        what = f"{'Server' if store.subject.server else 'Account'} {store.subject.name}{tier}"
        free = f"{fmt.bytes_text(self.free)} of {fmt.bytes_text(store.limit)} free to reserve"
        if self.others:
            free += f" after {fmt.listed(self.others)}"
        if not self.holds:
            needed = fmt.bytes_text(self.wanted.needed)
            return f"{what} does not hold it: {needed} needed, {free}."
        return f"{what} holds it ({free}); with it in use full {store.full_text(self.full)}."


def _holders(
    stores: Stores, stream: Name, as_of: date, added: float, unused: Growth
) -> list[_Holder]:
    """Of `added` bytes more for each replica."""
    found = []
    for store in stores.of_stream(stream):
        copies, others = stores.copies(store, stream), stores.raised(store, stream)
        wanted = Raise(added * copies, Growth(tuple((day, n * copies) for day, n in unused.points)))
        growths = [wanted.unused, *(each.unused for each in others.values())]
        names, full = tuple(name[2] for name in others), store.full_on(as_of, 1.0, growths)
        found.append(_Holder(store, wanted, stores.free(store, stream), names, full))
    return found


def _book(stores: Stores, stream: Name, raises: Iterable[tuple[Store, Raise]]) -> None:
    """The next raise finds less free; of two raises of one stream the larger counts."""
    for store, wanted in raises:
        booked = stores.raises[store].get(stream)
        if booked is None or booked.needed < wanted.needed:
            stores.raises[store][stream] = wanted


def wanted_limit(each: Forecast) -> int:
    """The highest level expected in 90 days plus 25 %."""
    highest = max((ahead.high for ahead in each.ahead), default=0.0)
    return _rounded_up(max(highest, each.limit or 0.0) * _MORE, each.is_bytes)


def _rounded_up(needed: float, is_bytes: bool) -> int:
    """To GiB, MiB or two digits."""
    step: int = 10 ** max(math.floor(math.log10(max(needed, 1))) - 1, 0)
    if is_bytes:
        step = _GIB if needed >= _GIB else _MIB
    return math.ceil(needed / step) * step


def stream_advice(facts: Facts, stores: Stores, each: Forecast) -> Advice:
    wanted, quoted = wanted_limit(each), shlex.quote(each.stream)
    if not each.is_bytes:
        return Advice(
            f"Raise max_msgs of stream {each.stream} to {fmt.count(wanted)}",
            ("A limit of messages reserves no storage; its bytes count against servers and account.",),
            (f"nats stream edit {quoted} --max-msgs {wanted} --dry-run",),
        )  # fmt: skip
    level = growth_of(each.level or 0.0, each)
    unused = Growth(tuple((day, max(wanted - level.at(day), 0.0)) for day in _AHEAD))
    added = max(wanted - (each.limit or 0.0), 0.0)
    holders = _holders(stores, each.asset, each.as_of, added, unused)
    checked = [holder.sentence for holder in holders] or [
        "Servers and account of this stream are unknown: check their free storage first."
    ]
    raising = f"nats stream edit {quoted} --max-bytes {wanted} --dry-run"
    if all(holder.holds for holder in holders):
        _book(stores, each.asset, ((holder.store, holder.wanted) for holder in holders))
        what = f"Raise max_bytes of stream {each.stream} to {fmt.bytes_text(wanted)}"
        return Advice(what, tuple(checked), (raising,))
    size = fmt.bytes_text(wanted)
    checked.insert(0, f"Do not raise max_bytes to {size}: it does not fit.")
    what, more, commands = _instead(facts, stores, each, Raise(wanted, unused), holders, raising)
    return Advice(what, (*checked, *filter(None, more)), commands, fits=False)


def _instead(
    facts: Facts, stores: Stores, each: Forecast, wanted: Raise, holders: list[_Holder], raising: str
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:  # fmt: skip
    """Move it, keep less, or add a server: what, what was checked, commands."""
    blocked = [holder.store.subject for holder in holders if not holder.holds]
    servers, quoted = [each.server for each in blocked if each.server], shlex.quote(each.stream)
    size = fmt.bytes_text(wanted.needed)
    unreserved = {store: stores.free(store, each.asset) for store in stores.elsewhere(each.asset)}
    # The server chooses the one with most free.
    fitting = (store for store in unreserved if unreserved[store] >= wanted.needed)
    free = sorted(fitting, key=unreserved.__getitem__)
    targets = free[::-1][: len(servers)]
    replicated = stores.replicas.get(each.asset, 1) > 1
    if replicated and len(servers) == len(blocked) == len(targets):
        staying = ((holder.store, holder.wanted) for holder in holders if holder.holds)
        arriving = Raise(wanted.needed, Growth(((0, wanted.needed),)))
        _book(stores, each.asset, (*staying, *((store, arriving) for store in targets)))
        gone, others = fmt.listed(servers), fmt.listed([each.subject.server for each in targets])
        move = f"nats stream cluster peer-remove {quoted}"
        return (
            f"Move stream {each.stream} from {gone} to {others}, then raise max_bytes to {size}",
            (f"Free servers: {others}. Wait until each new replica is current.",),
            (*(f"{move} {shlex.quote(server)}" for server in servers), raising),
        )
    one_more = "Or one server more" if len(servers) == 1 else f"Or {len(servers)} servers more"
    one_more = f"{one_more}, like {servers[0]}, and move the stream there." if servers else ""
    if shorter := _shorter(facts, each):
        hours, lost = shorter
        return (
            f"Set max_age of stream {each.stream} to {fmt.span(hours * 3600)}, or add storage first",
            (lost, one_more), (f"nats stream edit {quoted} --max-age {hours}h --dry-run",),
        )  # fmt: skip
    what = f"Raise the limit of account {blocked[0].account}, then max_bytes of stream {each.stream} to {size}"
    if servers:
        what = f"Add a server before you raise max_bytes of stream {each.stream} to {size}"
    finish = (
        "Its retention cannot be shortened without losing unprocessed messages: let its consumers "
        "finish."
    )
    commands = ("nats server report jetstream", f"nats consumer report {quoted}")
    return what, (one_more, finish), commands


def _shorter(facts: Facts, each: Forecast) -> tuple[int, str] | None:
    """A max_age in hours that keeps the stream below its limit, and what it removes.

    None for work queues and interest streams: there age removes unprocessed messages.
    """
    info, per_day = facts.stream_info.get(each.asset, {}), _bytes_per_day(facts, each.asset)
    size = each.level or 0.0
    if info.get("retention", "limits") != "limits" or not per_day or not each.limit or size <= 0:
        return None
    wanted, kept = _AIM * each.limit / per_day * _DAY, size / per_day * _DAY
    if wanted < _LEAST_AGE:
        return None
    now = facts.streams.now
    messages = float(now["messages"][now.positions[each.asset]])
    removed = max(1 - wanted / kept, 0.0)
    text = "this max_age removes"
    lost = f": {text} nothing now."
    if removed > 0:
        number = fmt.count(round(messages * removed))
        lost = f"; {text} about {fmt.bytes_text(size * removed)} ({number} messages) at once."
    return _whole_hours(wanted), f"It keeps about {fmt.span(kept)} today{lost}"


def _bytes_per_day(facts: Facts, stream: Name) -> float | None:
    """What the stream stores in a day with data, from the mean size of its messages."""
    now = facts.streams.now
    index = now.position(stream)
    if index is None:
        return None
    columns = ("bytes", "messages", "stored", "stored_days")
    size, messages, stored, days = (float(now[column][index]) for column in columns)
    known = size > 0 and messages > 0 and stored > 0 and days > 0
    return size / messages * stored / days if known else None


def lag_advice(facts: Facts, stores: Stores, consumer: Name, lag: float) -> Advice | None:
    """Limits that keep messages a quarter longer than the worst lag, if their bytes fit.

    None if the rate of the stream is unknown, or its limits hold that much already.
    """
    stream, now = consumer[:3], facts.streams.now
    per_day = _bytes_per_day(facts, stream)
    if per_day is None or not lag > 0:
        return None
    index = now.positions[stream]
    columns = ("age_end", "reserved", "messages_limit", "bytes", "messages")
    age, limit, most, size, messages = (float(now[column][index]) for column in columns)
    hours = _whole_hours(lag * _MORE, up=True)
    held = per_day * hours * 3600 / _DAY
    whole, number = _rounded_up(held, True), _rounded_up(held * messages / size, False)
    raised = {
        name: (text, flag)
        for name, old, wanted, text, flag in (
            ("max_age", age, hours * 3600, fmt.span(hours * 3600), f"--max-age {hours}h"),
            ("max_bytes", limit, whole, fmt.bytes_text(whole), f"--max-bytes {whole}"),
            ("max_msgs", most, number, fmt.count(number), f"--max-msgs {number}"),
        )
        if 0 < old < wanted
    }
    if not raised:
        return None
    # With max_bytes the servers reserve what it adds, without they need what the stream adds.
    unused = Growth(((0, max(held - size, 0.0)),))
    added = max(whole - limit, 0.0) if limit > 0 else unused.at(0)
    holders = _holders(stores, stream, facts.forecasts_as_of or facts.as_of, added, unused)
    to = fmt.listed([f"{name} to {text}" for name, (text, _) in raised.items()])
    checked = (
        f"At {fmt.bytes_text(per_day)} a day, {fmt.span(hours * 3600)} are {fmt.bytes_text(held)}.",
        *(holder.sentence for holder in holders),
    )
    if not all(holder.holds for holder in holders):
        what = f"Make consumer {consumer[3]} faster: {stream[2]} cannot keep messages longer"
        return Advice(what, (f"Do not raise {to}: it does not fit.", *checked), fits=False)
    _book(stores, stream, ((holder.store, holder.wanted) for holder in holders))
    flags = " ".join(flag for _, flag in raised.values())
    return Advice(
        f"Make consumer {consumer[3]} faster, and raise {to} of stream {stream[2]}", checked,
        (f"nats stream edit {shlex.quote(stream[2])} {flags} --dry-run",),
    )  # fmt: skip


def _whole_hours(seconds: float, up: bool = False) -> int:
    """Whole days from three days on."""
    whole: Callable[[float], int] = math.ceil if up else math.floor
    hours = max(whole(seconds / 3600), 1)
    return whole(hours / 24) * 24 if hours >= 72 else hours
