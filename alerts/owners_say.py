"""What owners declare in the metadata of a stream or consumer: who they are, the highest severity of its
alerts, and alerts that are muted."""

from __future__ import annotations

from alerts.queries import holds
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression
from streamgauge.promql.literals import quoted
from streamgauge.promql.selectors import SCRAPE, Regex

_SEVERITIES = ("critical", "warning", "info", "none")
# An election or an edit starts a new info series, and a scrape may be missed.
_LOOKBACK = "5m"
# The label team where neither the owner nor the scrape names one.
NO_TEAM = "unassigned"


def info_of(when: Expression) -> Metric | None:
    """The info series of the asset that an alert is about."""
    if "consumer" in when.labels:
        return catalog.CONSUMER_INFO
    return catalog.STREAM_INFO if "stream" in when.labels else None


def without_ignored(when: Expression, alert: str, prefix: str) -> Expression:
    """Without assets whose owner mutes this alert, or all."""
    info = info_of(when)
    if info is None or "consumer" in set(when.possible) - set(when.labels):
        return when
    names = f"all|{alert}|{prefix}{alert}"
    return when.unless(holds(info, owner_ignore=Regex(f"(.*,)?({names})(,.*)?")))


def labels(when: Expression, severity: str) -> dict[str, str]:
    """The labels that a rule adds; owners can lower the severity. Templates of Prometheus.

    None may be empty: the series ALERTS would then have the text of the template instead."""
    info = info_of(when)
    if info is None:
        return {"severity": severity}
    lower = "|".join(_SEVERITIES[_SEVERITIES.index(severity) + 1 :])
    return {
        "severity": _label(
            info, "owner_severity", ("=~", lower), f'or $labels.severity "{severity}"'
        ),
        "team": _label(info, "owner_team", ("!=", ""), f'or $labels.team "{NO_TEAM}"'),
    }


def owner(when: Expression) -> dict[str, str]:
    """The annotation that names the owner."""
    info = info_of(when)
    return {} if info is None else {"owner": _label(info, "owner_name", ("!=", ""), '"not known"')}


def _label(info: Metric, name: str, match: tuple[str, str], otherwise: str) -> str:
    operator, value = match
    own = [*SCRAPE, *(label for label in catalog.CONSUMER if label in info.labels)]
    matched = ",".join(f"{label}=%q" for label in own)
    values = " ".join(f"$labels.{label}" for label in own)
    query = f"last_over_time({info.name}{{{matched},{name}{operator}%q}}[{_LOOKBACK}])"
    found = f'{{{{ with printf "{query}" {values} {quoted(value)} | query }}}}'
    read = f'{{{{ . | first | label "{name}" }}}}'
    return f"{found}{read}{{{{ else }}}}{{{{ {otherwise} }}}}{{{{ end }}}}"
