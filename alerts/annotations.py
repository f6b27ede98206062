"""The turns of phrase that alert texts share: where it happens, and numbers read on the spot."""

from __future__ import annotations

from exporter import catalog
from exporter.metric import Metric

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


def told(
    metric: Metric,
    then: str,
    otherwise: str = "",
    *,
    function: str = "last_over_time",
    window: str = "2m",
    holds: str = "",
) -> str:
    """The template that reads a metric of the alert's own asset when the alert is written out.

    `then` may use `{{ . | first | value }}`; `otherwise` stands where there is no such series."""
    identity = [label for label in metric.labels if label in catalog.CONSUMER]
    matchers = ",".join(f"{label}=%q" for label in identity)
    values = " ".join(f"$labels.{label}" for label in identity)
    query = f"max({function}({metric.name}{{{matchers}}}[{window}])){holds}"
    other = f"{{{{ else }}}}{otherwise}" if otherwise else ""
    return f'{{{{ with printf "{query}" {values} | query }}}}{then}{other}{{{{ end }}}}'


READ_NUMBER = "{{ . | first | value | humanize }}"
