"""What to do about a limit, checked against the free storage of servers and account."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import Name
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import Stores
from spark_rollups.report.scenarios import (
    Raise,
    Retention,
    check_age,
    check_raise,
    holder_sentence,
)

_ROUND = 1 << 30
_MORE = (
    1.25  # above the highest expected level, so that the next report does not repeat the finding
)
_LEAST_AGE = 3600.0  # a shorter retention is no advice


@dataclass(frozen=True, slots=True)
class Advice:
    what: str  # an instruction
    checked: tuple[str, ...] = ()  # which server and account hold it, and when they are full then
    commands: tuple[str, ...] = ()
    fits: bool = True  # False: the raise alone would overfill a server or an account


def wanted_limit(each: Forecast) -> int:
    """The highest level expected in 90 days plus 25 %, rounded up to GiB or two digits."""
    highest = max((ahead.high for ahead in each.ahead), default=each.limit or 0.0)
    needed = max(highest, each.limit or 0.0) * _MORE
    if each.is_bytes:
        step = _ROUND if needed >= _ROUND else 1 << 20
        return math.ceil(needed / step) * step
    digits: int = 10 ** max(math.floor(math.log10(max(needed, 1))) - 1, 0)
    return math.ceil(needed / digits) * digits


def stream_advice(facts: Facts, stores: Stores, each: Forecast) -> Advice:
    wanted, stream = wanted_limit(each), shlex.quote(each.stream)
    if not each.is_bytes:
        return Advice(
            f"Raise max_msgs of stream {each.stream} to {fmt.count(wanted)}",
            (
                "A limit of messages reserves no storage; its bytes count against servers and account.",
            ),
            (f"nats stream edit {stream} --max-msgs {wanted} --dry-run",),
        )
    found = check_raise(facts, stores, each, wanted)
    size = fmt.bytes_text(wanted)
    raising = f"nats stream edit {stream} --max-bytes {wanted} --dry-run"
    if found.fits:
        what = f"Raise max_bytes of stream {each.stream} to {size}"
        return Advice(what, tuple(found.sentences), (raising,))
    return _without_space(each, found, stream, raising)


def _without_space(each: Forecast, found: Raise, stream: str, raising: str) -> Advice:
    size = fmt.bytes_text(found.wanted)
    blocked = [holder.store.subject for holder in found.holders if not holder.holds]
    servers = [subject.server for subject in blocked if subject.server]
    checked = [f"Do not raise max_bytes to {size}: it does not fit.", *found.sentences]
    if found.can_move and found.replicas > 1:
        others = fmt.listed(found.elsewhere)
        checked.append(f"Free servers: {others}. Wait until each new replica is current.")
        commands = [
            f"nats stream cluster peer-remove {stream} {shlex.quote(each)}" for each in servers
        ]
        what = f"Move stream {each.stream} from {fmt.listed(servers)} to {others}, then raise max_bytes to {size}"
        return Advice(what, tuple(checked), (*commands, raising), fits=False)
    if found.retention is not None and found.retention.max_age >= _LEAST_AGE:
        checked += [_lost(found.retention), _one_more(servers)]
        hours = _whole_hours(found.retention.max_age)
        what = (
            f"Set max_age of stream {each.stream} to {fmt.span(hours * 3600)}, or add storage first"
        )
        commands = [f"nats stream edit {stream} --max-age {hours}h --dry-run"]
        return Advice(what, tuple(filter(None, checked)), tuple(commands), fits=False)
    if servers:
        what = f"Add a server before you raise max_bytes of stream {each.stream} to {size}"
        checked.append(_one_more(servers))
    else:
        account = blocked[0].account
        what = f"Raise the limit of account {account}, then max_bytes of stream {each.stream} to {size}"
    checked.append("Its retention cannot be shortened without losing unprocessed messages: let its "
                   "consumers finish.")  # fmt: skip
    commands = ["nats server report jetstream", f"nats consumer report {stream}"]
    return Advice(what, tuple(filter(None, checked)), tuple(commands), fits=False)


def age_advice(facts: Facts, stores: Stores, stream: Name, lag: float) -> Advice | None:
    """Longer retention than the worst lag, if it fits; None without max_age or a known lag."""
    now = facts.streams.now
    index = now.position(stream)
    ages = now.at_end(c.STREAM_MAX_AGE_SECONDS)
    if index is None or not ages[index] > 0 or not lag > 0:
        return None
    hours = _whole_hours(max(lag * _MORE, float(ages[index]) * _MORE))
    holders = check_age(facts, stores, stream, hours * 3600)
    checked = [holder_sentence(holder) for holder in holders]
    if not all(holder.holds for holder in holders):
        return Advice(
            f"Make the consumer faster: {stream[2]} cannot keep messages longer",
            (f"Do not raise max_age to {fmt.span(hours * 3600)}: it does not fit.", *checked),
            fits=False,
        )
    return Advice(
        f"Raise max_age of stream {stream[2]} to {fmt.span(hours * 3600)}, and make the consumer faster",
        tuple(checked),
        (f"nats stream edit {shlex.quote(stream[2])} --max-age {hours}h --dry-run",),
    )


def _whole_hours(seconds: float) -> int:
    """Whole days from three days on."""
    hours = max(math.floor(seconds / 3600), 1)
    return hours // 24 * 24 if hours >= 72 else hours


def _lost(retention: Retention) -> str:
    kept = f"It keeps about {fmt.span(retention.kept_now)} today"
    if retention.lost_bytes <= 0:
        return f"{kept}: the shorter max_age removes nothing now."
    return (
        f"{kept}; the shorter max_age removes about {fmt.bytes_text(retention.lost_bytes)} "
        f"({fmt.count(round(retention.lost_messages))} messages) at once."
    )


def _one_more(servers: Sequence[str]) -> str:
    return f"Or one server more, like {servers[0]}, and move the stream there." if servers else ""
