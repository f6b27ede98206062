"""Configuration of the alert pipeline: the product's rules and Alertmanager configuration, with
shorter times and test receivers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import yaml

from alerts import thresholds
from alerts.generate import ROOT
from alerts.quantity import format_duration, parse_duration
from alerts.render_options import RenderOptions, Timing
from streamgauge.demo.pipeline.alerting import shorten_waits

SYSTEM: Final = "trial"
ALONE: Final = "alone"  # the same servers as a user of one account sees them
JOB: Final = "streamgauge"
POLL_SECONDS: Final = 2

EXPORTER: Final = """\
web: {{listen_address: "127.0.0.1:{port}"}}
interval: {seconds}s
timeout: {timeout}s
detail: full
systems:
  - name: {system}
    source: system
    urls: [{urls}]
    user: sys
    password: sys
    config_interval: {seconds}s
    health_interval: {seconds}s
    publishes: {{interval: 10s}}
    audit: {{interval: {audit:g}s}}
    events:
      account: {{name: APP, user: app, password: app}}
      publish_ack_tap: {{enabled: true}}
"""
ACCOUNT_ALONE: Final = """\
  - {{name: alone, source: account, urls: [{urls}], user: app, password: app}}
"""
PROMETHEUS: Final = """\
global:
  scrape_interval: {seconds}s
  scrape_timeout: {seconds}s
  evaluation_interval: {seconds}s
rule_files: ["{rules}"]
alerting:
  alertmanagers:
    - static_configs:
        - targets: ["{alertmanager}"]
scrape_configs:
  - job_name: streamgauge
    static_configs:
      - targets: [{exporters}]
"""


@dataclass(frozen=True, slots=True)
class _PatientTiming(Timing):
    """What is waited for stays longer than an election on a busy machine."""

    least_wait: float = 0.0

    def wait(self, written: str) -> str:
        seconds = parse_duration(written)
        return format_duration(max(seconds / self.speed, self.least_wait) if seconds else 0)


@dataclass(frozen=True)
class Tempo:
    speed: float
    least_wait: float = 0.0
    numbers: tuple[str, ...] = ()

    @property
    def scrape_seconds(self) -> int:
        return 5 if self.speed == 1 else 1

    @property
    def audit_seconds(self) -> float:
        return max(60 / self.speed, 5.0 * POLL_SECONDS)

    @property
    def terms(self) -> RenderOptions:
        # Several polls must fit into a window, also when this machine has other things to do.
        timing = _PatientTiming(self.speed, 6.0 * POLL_SECONDS, self.least_wait)
        chosen = thresholds.overridden(self.numbers)
        return RenderOptions(thresholds=chosen, timing=timing)


def alertmanager_configuration(webhook: str) -> str:
    """The generated one; every receiver is the webhook, and its waits are short."""
    committed = ROOT / "alerts" / "generated" / "alertmanager.yml"
    document = yaml.safe_load(committed.read_text(encoding="utf-8"))
    document["templates"] = [str(ROOT / "alerts" / "templates" / "*.tmpl")]
    document["receivers"] = [
        {"name": each["name"], "webhook_configs": [{"url": webhook, "send_resolved": True}]}
        for each in document["receivers"]
    ]
    shorten_waits(document["route"])
    return yaml.safe_dump(document)
