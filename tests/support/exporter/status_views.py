"""Pollers in memory with the state of a system, and the pages made of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace as changed
from support.exporter.models import NOW, consumer, server, snapshot, stream

from exporter.model import Consumer, Outcome, Server, Snapshot, Stream
from exporter.pages.site import StatusSite, overview_page
from exporter.pages.status.view import DocLink, RequestView, StatusView, SystemView
from exporter.polling.history import History
from exporter.polling.state import SystemState
from exporter.polling.supervisor import Supervisor
from exporter.samples.render import Rendered
from exporter.settings.config import ExporterSettings, WebSettings
from exporter.signals.results import ConsumerSignals, Signals

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"

SUCCEEDED = RequestView("consumer_list", ok=True, seconds=0.012, age_seconds=3.0)
HEALTHY = SystemView(
    name="demo",
    source="account",
    targets=("nats://127.0.0.1:4222",),
    state="fresh",
    age_seconds=3.4,
    poll_seconds=0.1,
    servers_responding=1,
    servers_expected=1,
    accounts=1,
    streams=12,
    consumers=34,
    series=816,
    requests=(replace(SUCCEEDED, request="stream_list"), SUCCEEDED),
)


def page_of(*systems: SystemView) -> str:
    return overview_page(view_of(*systems))


def view_of(*systems: SystemView) -> StatusView:
    docs = (DocLink("Documentation", "https://docs.invalid/"),)
    return StatusView("0.1.0", NOW, 15, "flags", systems, docs)


def held(*conditions: tuple[str, float], verdict: int = 0, **values: Any) -> ConsumerSignals:
    """Signals of a consumer with conditions, each with its age in seconds."""
    times = tuple((word, NOW - age) for word, age in conditions)
    return ConsumerSignals(0, 0, 0, verdict, NOW - 60, conditions=times, **values)


@dataclass
class MemoryPoller:
    """The part of a SystemPoller that the pages see."""

    state: SystemState
    system: str = "demo"
    source_name: str = "system"
    targets: tuple[str, ...] = ("nats://127.0.0.1:4222",)
    history: History = field(default_factory=History)


def polled(
    *rows: Stream | Consumer | Server,
    signals: Signals | None = None,
    now: float = NOW,
    **changes: Any,
) -> MemoryPoller:
    """A system whose last poll has these rows. Its time is now."""
    taken: Snapshot = changed(snapshot(*rows, **changes), system="demo", taken=now)
    outcomes = changed(taken, outcomes=(Outcome("jsz", True, 0.1),))
    state = SystemState(45.0).with_outcomes(outcomes, now)
    responded = state.succeeded(taken, Rendered((), 0, 0, 0), signals or Signals())
    # Made when a test file is imported: as old as its own times say, not as the tests take.
    return MemoryPoller(replace(responded, last_response_ticks=inf))


def site(*pollers: MemoryPoller, grafana: str = "", reload_ok: bool = True) -> StatusSite:
    settings = ExporterSettings(web=WebSettings(grafana_url=grafana))
    made = SimpleNamespace(pollers=pollers, settings=settings, reload_ok=reload_ok)
    return StatusSite(cast("Supervisor", made), "flags", lambda: NOW)


__all__ = [
    "HEALTHY",
    "HOSTILE",
    "SUCCEEDED",
    "MemoryPoller",
    "consumer",
    "held",
    "page_of",
    "polled",
    "server",
    "site",
    "stream",
    "view_of",
]
