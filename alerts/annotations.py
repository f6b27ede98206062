"""Templates that alert annotations share: names of assets, and values queried on expansion."""

from __future__ import annotations

from alerts.quantity import Threshold, Unit
from alerts.queries import LOOKBACK
from alerts.render_options import DEFAULT
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression
from streamgauge.promql.literals import quoted
from streamgauge.promql.selectors import SCRAPE, OverTime, Selector, matchers

_OWN = "%q"  # printf writes the alert's own label value here, with quotes

SYSTEM = "system {{ $labels.system }}"
ACCOUNT = "account {{ $labels.account }}, " + SYSTEM
STREAM = "Stream {{ $labels.stream }} (" + ACCOUNT + ")"
THE_CONSUMER = "consumer {{ $labels.consumer }} of stream {{ $labels.stream }} (" + ACCOUNT + ")"
CONSUMER = THE_CONSUMER.replace("consumer", "Consumer", 1)
SERVER = "Server {{ $labels.server }} (" + SYSTEM + ")"

NUMBER = "{{ $value | humanize }}"
PERCENT = "{{ $value | humanizePercentage }}"
DURATION = "{{ $value | humanizeDuration }}"
COUNT = '{{ $value | printf "%.0f" }}'  # increase() estimates: no fractions of a message


HELD_TEXT = (
    "System {{ $labels.system }} gives no data now. This alert was open when the last data came"
    "{{ with $labels.stream }}, for stream {{ . }}{{ end }}"
    "{{ with $labels.consumer }}, consumer {{ . }}{{ end }}"
    "{{ with $labels.account }} (account {{ . }}){{ end }}. It stays open until data shows that its "
    "cause is over."
)


def or_held(description: str) -> str:
    """The value of an alert that is kept open says nothing: it is negative."""
    return f"{{{{ if lt $value 0.0 }}}}{HELD_TEXT}{{{{ else }}}}{description}{{{{ end }}}}"


def query_value(
    value: Expression | Metric,
    then: str,
    otherwise: str = "",
) -> str:
    """A template that queries the alert's own asset when Prometheus expands the annotation.

    `then` may use `{{ . | first | value }}`; `otherwise` is the text where there is no series."""
    expression = own(value) if isinstance(value, Metric) else value
    query = expression.render(DEFAULT).replace(quoted(_OWN), _OWN)
    labels = [matcher.label for each in expression.all_of(Selector) for matcher in each.matchers]
    values = " ".join(f"$labels.{label}" for label in labels)
    other = f"{{{{ else }}}}{otherwise}" if otherwise else ""
    return f'{{{{ with printf "{query}" {values} | query }}}}{then}{other}{{{{ end }}}}'


def own(metric: Metric, function: str = "last_over_time", window: str = LOOKBACK) -> Expression:
    """A metric of the alert's own asset."""
    identity = [label for label in metric.labels if label in catalog.CONSUMER]
    selector = Selector(metric, matchers(dict.fromkeys((*SCRAPE, *identity), _OWN)))
    return OverTime(function, selector, window).max_by()


def own_increase(counter: Metric, window: str) -> Expression:
    return own(counter, "increase", window)


def judged_by(threshold: Threshold) -> str:
    """The number by which the exporter judges; before it is scraped, the default."""
    own_labels = [*SCRAPE, *catalog.SYSTEM]
    chosen = ",".join(f"{label}=%q" for label in (*own_labels, "threshold"))
    values = " ".join((*(f"$labels.{label}" for label in own_labels), quoted(threshold.name)))
    query = f"max(last_over_time({catalog.CONDITION_THRESHOLD.name}{{{chosen}}}[{LOOKBACK}]))"
    form = "humanizePercentage" if threshold.unit is Unit.RATIO else "humanizeDuration"
    shown = f"{{{{ . | first | value | {form} }}}}"
    return (
        f'{{{{ with printf "{query}" {values} | query }}}}{shown}'
        f"{{{{ else }}}}<{threshold.name}>{{{{ end }}}}"
    )


def streams_at_risk() -> str:
    """The streams that the next failure costs their quorum: five of them by name, and how many more."""
    start = catalog.STREAM_CONDITION_START_TIMESTAMP_SECONDS.name
    own_labels = [*SCRAPE, *catalog.SYSTEM]
    chosen = ",".join(f"{label}=%q" for label in (*own_labels, "condition"))
    values = " ".join((*(f"$labels.{label}" for label in own_labels), quoted("quorum_at_risk")))
    series = f"min by (account, stream) (last_over_time({start}{{{chosen}}}[{LOOKBACK}]))"
    counted = f'{{{{ with printf "count({series})" {values} | query }}}}'
    named = f'{{{{ range $place, $one := printf "bottomk(5, {series})" {values} | query }}}}'
    more = f'{{{{ with printf "count({series}) - 5 > 0" {values} | query }}}}'
    return (
        f" {counted}Streams that the next failure costs their quorum: "
        f"{named}{{{{ if $place }}}}, {{{{ end }}}}{{{{ $one.Labels.stream }}}}{{{{ end }}}}"
        f"{more} and {READ_NUMBER} more{{{{ end }}}}."
        "{{ else }}No stream is left without a spare replica.{{ end }}"
    )


READ_NUMBER = "{{ . | first | value | humanize }}"
