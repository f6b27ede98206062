"""Rows -> files for `promtool test rules`: every variant of an asset is a system of its own."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import yaml
from support.promtool.alert_row import EPHEMERAL, PAUSED, Row, Series, Values, at

from alerts import thresholds
from alerts.generate import ROOT
from alerts.quantity import format_duration, parse_duration
from alerts.rule import Alert
from alerts.rules import BY_NAME
from exporter import catalog
from exporter.metric import PREFIX, Kind, Metric

GENERATED = ROOT / "alerts" / "generated"
_SPEC = re.compile(r"([a-z_:0-9]+)(?:\{(.*)\})?")
_VALUES = "values:"
_ACTION = re.compile(r"\{\{.*?\}\}")
_OWN_LABEL = re.compile(r"\{\{ \$labels\.[a-z_]+ \}\}")  # `exp_labels` has it
_LABEL = re.compile(r'([a-z_]+)="([^"]*)"')
_LINKED = ("system", "account", "stream", "consumer")
STALE = "stale"
FRESH, OLD = 44.0, 45.0  # the age of a snapshot, on either side of the guard
# These fire: as it is, with a missed scrape, reported by two replicas.
FIRING = ("as it is", "scrape missed", "two replicas")


@cache
def committed_rules() -> tuple[dict[str, Any], ...]:
    files = sorted(GENERATED.glob("*.rules.yml"))
    documents = [yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in files]
    return tuple(
        rule for document in documents for group in document["groups"] for rule in group["rules"]
    )


def rules_of(*alerts: str) -> dict[str, Any]:
    """The committed rules of alerts, after the recordings that they read."""
    wanted = [rule for rule in committed_rules() if rule.get("alert") in alerts]
    if len(wanted) != len(alerts):
        raise LookupError(f"{alerts} are not all in the generated files")
    read = "".join(rule["expr"] for rule in wanted)
    wanted = [_with_values_only(rule) for rule in wanted]
    recordings: list[dict[str, Any]] = []
    # From the last to the first: a recording uses only those before it.
    for rule in reversed(committed_rules()):
        if "record" in rule and rule["record"] in read:
            read += rule["expr"]
            recordings.insert(0, rule)
    return {"groups": [{"name": "tested", "rules": [*recordings, *wanted]}]}


def _with_values_only(rule: dict[str, Any]) -> dict[str, Any]:
    """The rule with a description of its values alone: sentences may change freely."""
    description = values_template(rule["annotations"]["description"])
    return {**rule, "annotations": {**rule["annotations"], "description": description}}


def values_template(description: str) -> str:
    """A template that prints each value with `;`, `+` for a query with a result and `-` without, `!`
    for a condition that is true."""
    parts = []
    marks = []
    for action in _ACTION.findall(description):
        if action.startswith("{{ with "):
            parts.append(f"{action}+")
            marks.append("-")
        elif action.startswith("{{ range "):
            parts.append(action)
            marks.append("")
        elif action.startswith("{{ if "):
            parts.append(f"{action}!")
            marks.append("")
        elif action == "{{ else }}":
            parts.append(f"{action}{marks[-1]}")
        elif action == "{{ end }}":
            parts.append(action)
            marks.pop()
        elif not _OWN_LABEL.fullmatch(action):
            parts.append(f"{action};")
    return f"{_VALUES}{''.join(parts)}"


def write_row(row: Row, folder: Path) -> Path:
    """A test file and the rule file beside it."""
    full_name = f"JetStream{row.alert}"
    name = row.name.replace(" ", "-")
    (folder / f"{name}.rules.yml").write_text(yaml.safe_dump(rules_of(full_name)))
    tested = {
        "rule_files": [f"{name}.rules.yml"],
        "evaluation_interval": row.every,
        "tests": [_test(row, full_name)],
    }
    path = folder / f"{name}.test.yml"
    path.write_text(yaml.safe_dump(tested, width=10_000))
    return path


class Clock:
    """The times of the checks of a row, in seconds."""

    def __init__(self, row: Row) -> None:
        alert = BY_NAME[f"JetStream{row.alert}"]
        self.step = parse_duration(row.every)
        self.wait = parse_duration(alert.for_)
        self.onset = parse_duration(row.onset)
        self.fires = self.onset + self.wait
        self.just_before = self.fires - self.step
        self.missed_again = self.fires + self.step
        self.end = self.fires + 3 * self.step
        # In the middle of the wait; an event that waits for nothing has no middle.
        self.middle = self.onset + self.step * round(self.wait / 2 / self.step)

    def moments(self) -> Iterator[float]:
        moment = 0.0
        while moment <= self.end:
            yield moment
            moment += self.step


def _test(row: Row, full_name: str) -> dict[str, Any]:
    clock = Clock(row)
    later = row.values if row.later is None else row.later
    # While its series is gone the text of an alert stays as it was.
    missed = row.values if row.aged else later
    checks = [
        (clock.fires, (row.values, row.values, row.values)),
        (clock.missed_again, (later, missed, later)),
    ]
    if clock.just_before >= 0:
        checks.insert(0, (clock.just_before, ()))
    return {
        "interval": row.every,
        "input_series": list(_input(row, clock)),
        "alert_rule_test": [
            {
                "eval_time": format_duration(moment),
                "alertname": full_name,
                "exp_alerts": [_expected(row, *each) for each in zip(FIRING, values, strict=False)],
            }
            for moment, values in checks
        ],
    }


def _input(row: Row, clock: Clock) -> Iterator[dict[str, str]]:
    asset = {**row.context, **row.bad}
    yield from _variant("as it is", asset, row, clock)
    yield from _variant("scrape missed", asset, row, clock, missed=True)
    for replica in ("a", "b"):
        yield from _variant("two replicas", asset, row, clock, replica=replica)
    yield from _variant("just below", {**row.context, **row.calm}, row, clock)
    yield from _variant("reset", _reset(row, clock), row, clock)
    if not row.lingers and not row.aged:
        yield from _variant("gone", {k: _gone(v, clock) for k, v in asset.items()}, row, clock)
    if row.guarded:
        yield from _variant("stale", asset, row, clock, age=OLD)
    for name, changes in _exemptions(row):
        changed = {key: value for key, value in {**asset, **changes}.items() if value is not None}
        # A scrape is missed here too: what keeps it quiet must not be lost with it.
        yield from _variant(name, changed, row, clock, missed=True)


def _exemptions(row: Row) -> Iterator[tuple[str, Series]]:
    if row.about_a_consumer:
        yield "paused", PAUSED
        yield "ephemeral", EPHEMERAL
    if info := _info_of(row):
        yield "muted", {f'{info}{{owner_ignore="dupe-window-short,{row.alert}",leader="n1"}}': 1}
        yield "all muted", {f'{info}{{owner_ignore="all",leader="n1"}}': 1}
    yield from row.silent.items()


def _info_of(row: Row) -> str | None:
    """Owners mute alerts about one asset; their own limits they just remove."""
    if "stream" not in BY_NAME[f"JetStream{row.alert}"].when.labels or "Owner" in row.alert:
        return None
    return "consumer_info" if row.about_a_consumer else "stream_info"


def _reset(row: Row, clock: Clock) -> Series:
    """Recreated on the way: the alert must start over."""
    if row.lingers or row.aged:
        return {
            **row.context,
            **{key: _counted_again(key, value, 3 * clock.step) for key, value in row.calm.items()},
        }
    keys = row.bad.keys() | row.calm.keys()
    return {
        **row.context,
        **{
            key: _interrupted(row.bad.get(key), row.calm.get(key), clock.middle, clock.step)
            for key in keys
        },
    }


def _settled(spec: str, values: Values, clock: Clock) -> Values:
    """A gauge stays where it is once the alert has fired, so that its text does too."""
    if metric_of(spec).kind is not Kind.GAUGE:
        return values
    return lambda moment: at(values, min(moment, clock.fires))


def metric_of(spec: str) -> Metric:
    return catalog.BY_NAME[PREFIX + spec.partition("{")[0].removesuffix("_bucket")]


def _counted_again(spec: str, calm: Values, border: float) -> Values:
    """A counter that starts again at 0 has not counted anything."""
    if metric_of(spec).kind is Kind.GAUGE:
        return calm
    return lambda moment: 1000.0 if moment < border else 0.0


def _interrupted(bad: Values, calm: Values, middle: float, step: float) -> Values:
    return lambda moment: at(calm if middle <= moment < middle + step else bad, moment)


def _gone(values: Values, clock: Clock) -> Values:
    """Deleted on the way. Shorter waits than the lookback of the rules: it was never there."""
    border = clock.middle if clock.wait >= 300 else 0.0
    return lambda moment: at(values, moment) if moment < border else None


def _variant(
    system: str,
    series: Series,
    row: Row,
    clock: Clock,
    *,
    missed: bool = False,
    replica: str = "a",
    age: float = FRESH,
) -> Iterator[dict[str, str]]:
    reported = {**series, "snapshot_age_seconds": age} if row.guarded else dict(series)
    reported |= {
        f'condition_threshold{{threshold="{name}"}}': thresholds.BY_NAME[name].value
        for name in sorted(thresholds.OF_EXPORTER)
    }
    gaps = {clock.missed_again} | ({clock.middle} if clock.wait else set()) if missed else set()
    for spec, values in reported.items():
        samples = notation(_settled(spec, values, clock), clock.moments(), gaps)
        if samples is not None:
            yield {"series": _series(spec, system, row, replica), "values": samples}


def _series(spec: str, system: str, row: Row, replica: str) -> str:
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise ValueError(f"{spec}: is no series")
    metric = metric_of(spec)
    own = dict(_LABEL.findall(found[2] or ""))
    if "leader" in own and replica == "b":
        own["leader"] = "n2"  # one replica has seen the election, the other has not yet
    identity = {"system": system, **row.of, "server": "n1", **own}
    known = {label: identity[label] for label in (*metric.labels, "le") if label in identity}
    labels = {**known, "job": "streamgauge", "instance": f"{replica}:7778"}
    inside = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return f"{PREFIX}{found[1]}{{{inside}}}"


def notation(values: Values, moments: Iterable[float], gaps: Container[float] = ()) -> str | None:
    """In promtool's short form; a gap is what a failed scrape leaves: a mark, not a hole."""
    tokens, before = [], False
    for moment in moments:
        value = at(values, moment)
        if moment in gaps:
            tokens.append(STALE)
        elif value is None:
            tokens.append(STALE if before else "_")
        else:
            tokens.append(repr(float(value)))
        before = value is not None
    return " ".join(_runs(tokens)) if any(token not in ("_", STALE) for token in tokens) else None


def _runs(tokens: Iterable[str]) -> Iterator[str]:
    last, count = "", 0
    for token in (*tokens, ""):
        if token == last:
            count += 1
            continue
        if count:
            yield from _run(last, count)
        last, count = token, 1


def _run(token: str, count: int) -> Iterator[str]:
    if token == STALE:
        yield from [STALE] * count
    elif token == "_":
        yield f"_x{count}"
    else:
        yield f"{token}x{count - 1}" if count > 1 else token


def expected_values(values: str) -> str:
    return f"{_VALUES}{values}"


def added_labels(alert: Alert, team: str = "unassigned") -> dict[str, str]:
    """An alert about a stream or consumer has a team, be it none."""
    return {"team": team} if "stream" in alert.when.labels else {}


def owner_of(alert: Alert, owner: str = "not known") -> dict[str, str]:
    return {"owner": owner} if "stream" in alert.when.labels else {}


def _expected(row: Row, system: str, values: str) -> dict[str, Mapping[str, str]]:
    alert = BY_NAME[f"JetStream{row.alert}"]
    labels = {"system": system, **row.of, **row.labels}
    chosen = "".join(
        f"&var-{label}={quote_plus(labels[label])}" for label in _LINKED if label in labels
    )
    return {
        "exp_labels": {
            **labels,
            "job": "streamgauge",
            **added_labels(alert),
            "severity": alert.severity.value,
        },
        "exp_annotations": {
            **owner_of(alert),
            "summary": alert.summary,
            "description": expected_values(values),
            "runbook_url": f"docs/runbooks/{alert.full_name}.md",
            "dashboard_url": f"/d/{alert.board.value}?orgId=1{chosen}",
        },
    }
