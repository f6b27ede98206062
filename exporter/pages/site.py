"""The status pages of a running exporter. CPU-heavy with many assets: runs outside the event loop."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from exporter.model import Server, Snapshot
from exporter.pages.asset.consumer import consumer_page
from exporter.pages.asset.server import server_page
from exporter.pages.asset.stream import stream_page
from exporter.pages.asset.view import AssetView, PageSource
from exporter.pages.reference.page import doc_links
from exporter.pages.rendering import render
from exporter.pages.status import links
from exporter.pages.status.problems import Facts
from exporter.pages.status.unwell import find_consumer, find_server, find_stream
from exporter.pages.status.view import DocLink, StatusView
from exporter.pages.status.view_builder import status_view
from exporter.pages.tables.consumers import consumers_table
from exporter.pages.tables.servers import servers_table
from exporter.pages.tables.streams import streams_table
from exporter.pages.tables.table import Query, TableView
from exporter.polling.loop import SystemPoller
from exporter.polling.supervisor import Supervisor

TABLES = ("consumers", "streams", "servers")
ASSETS = ("consumer", "stream", "server")


@dataclass(frozen=True, slots=True)
class Frame:
    """What every page shows around its content."""

    now: float
    interval: float
    config_source: str
    telemetry_path: str
    docs: tuple[DocLink, ...]
    current: str = ""
    system: str = ""

    @property
    def system_query(self) -> str:
        return "?" + urlencode({"system": self.system}) if self.system else ""


@dataclass(frozen=True, slots=True)
class _System:
    """What a page needs of one system, read once: the next poll may end while it is made."""

    poller: SystemPoller
    snapshot: Snapshot | None  # None without a fresh one
    servers: tuple[Server, ...]
    facts: Facts

    @classmethod
    def of(cls, poller: SystemPoller, now: float) -> _System:
        state = poller.state
        snapshot = None if state.is_stale(now) else state.snapshot
        facts = Facts.of(state.signals, state.servers, now)
        return cls(poller, snapshot, state.servers, facts)


@dataclass(frozen=True, slots=True)
class StatusSite:
    supervisor: Supervisor
    config_source: str
    clock: Callable[[], float] = time.time

    def view(self) -> StatusView:
        return status_view(self.supervisor, self.config_source, self.clock())

    def overview(self) -> str:
        return overview_page(self.view())

    def table(self, name: str, given: Mapping[str, str]) -> tuple[int, str]:
        now, query = self.clock(), Query.of(given)
        poller = self._poller(query.system)
        if poller is None:
            return self._missing(now, query.system, f"system {query.system}", ())
        system = _System.of(poller, now)
        frame = self._frame(now, name.capitalize(), poller.system)
        names = [each.system for each in self.supervisor.pollers]
        view = _table(name, system, Query(poller.system, query.search, query.sort, query.page))
        html = render(
            "table.html", page=frame, table=view, known=view is not None, system=poller.system,
            systems=names,
        )  # fmt: skip
        return 200, html

    def asset(self, kind: str, given: Mapping[str, str]) -> tuple[int, str]:
        now, name = self.clock(), given.get("system", "")
        key = tuple(given.get(each, "") for each in links.names_of(kind))
        poller, what = self._poller(name), f"{kind} {' › '.join(filter(None, key))}"
        if poller is None:
            return self._missing(now, name, what, ())
        system = _System.of(poller, now)
        view = _asset(kind, key, system, self.supervisor.settings.web.grafana_url)
        if view is None:
            return self._missing(now, name, what, _near(kind, key, system))
        return 200, render("asset.html", page=self._frame(now, "", poller.system), view=view)

    def _poller(self, name: str) -> SystemPoller | None:
        """Without a name the first one."""
        pollers = self.supervisor.pollers
        if not name:
            return pollers[0] if pollers else None
        return next((each for each in pollers if each.system == name), None)

    def _missing(
        self, now: float, system: str, what: str, near: Iterable[tuple[str, str]]
    ) -> tuple[int, str]:
        frame = self._frame(now, "", "")
        return 404, render("missing.html", page=frame, what=what, system=system, near=[*near])

    def _frame(self, now: float, current: str, system: str) -> Frame:
        settings = self.supervisor.settings
        path = settings.web.telemetry_path
        return Frame(now, settings.interval, self.config_source, path, doc_links(), current, system)


def overview_page(view: StatusView) -> str:
    frame = Frame(
        view.now, view.interval_seconds, view.config_source, view.telemetry_path, view.docs,
        "Overview",
    )  # fmt: skip
    return render("overview.html", page=frame, view=view)


def _table(name: str, system: _System, query: Query) -> TableView | None:
    if name == "servers":  # known also while no server responds
        return servers_table(system.poller.system, system.servers, system.facts, query)
    if system.snapshot is None:
        return None
    table = streams_table if name == "streams" else consumers_table
    return table(system.snapshot, system.facts, query)


def _asset(kind: str, key: tuple[str, ...], system: _System, grafana: str) -> AssetView | None:
    poller = system.poller
    source = PageSource(poller.system, system.facts, poller.history, grafana)
    if kind == "server":
        server = find_server(system.servers, *key)
        return server_page(server, source) if server else None
    if system.snapshot is None:
        return None
    if kind == "stream":
        stream = find_stream(system.snapshot, *key)
        return stream_page(stream, system.snapshot, source) if stream else None
    consumer = find_consumer(system.snapshot, *key)
    return consumer_page(consumer, source) if consumer else None


def _near(kind: str, key: tuple[str, ...], system: _System) -> list[tuple[str, str]]:
    """Assets of the same stream or account with a similar name."""
    snapshot, name = system.snapshot, system.poller.system
    known: set[tuple[str, ...]]
    if kind == "server" or snapshot is None:
        known = {(row.name,) for row in system.servers} if kind == "server" else set()
    elif kind == "stream":
        known = {(row.account, row.name) for row in snapshot.streams}
    else:
        known = {(r.account, r.stream, r.name) for r in snapshot.consumers if r.stream == key[1]}
    by_name = {each[-1]: each for each in known}
    close = difflib.get_close_matches(key[-1], sorted(by_name)[:1000], n=3)
    return [(each, links.asset_page(kind, name, by_name[each])) for each in close]
