"""Log lines about the polls of a system: one line for each change of state."""

from __future__ import annotations

import logging
from collections.abc import Hashable
from dataclasses import dataclass, field

from exporter.model import Snapshot
from exporter.polling.state import SystemState
from streamgauge.serving.logs import StateLog, event

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class PollLog:
    system: str
    interval: float
    _states: StateLog = field(default_factory=lambda: StateLog(logger))
    _wrong: set[Hashable] = field(default_factory=set)
    _servers: set[str] = field(default_factory=set)
    _had_succeeded: bool = False

    def log_requests(self, snapshot: Snapshot) -> None:
        """Logs the outcome of each request of a poll."""
        for outcome in snapshot.outcomes:
            self._log_problem(("request", outcome.request), outcome.reason or not outcome.ok,
                          "request failed", "request succeeded again",
                          request=outcome.request, reason=outcome.reason,
                          detail=outcome.detail)  # fmt: skip
        faults = {("fault", fault.request, fault.reason): fault for fault in snapshot.faults}
        for key, fault in faults.items():
            self._log_problem(key, True, "part of a response dropped", "", request=fault.request,
                          reason=fault.reason, count=fault.count, detail=fault.detail)  # fmt: skip
        for key in [key for key in self._wrong if isinstance(key, tuple) and key[0] == "fault"]:
            if key not in faults:
                self._log_problem(key, False, "", "responses complete again",
                              request=key[1], reason=key[2])  # fmt: skip
        self._log_servers(snapshot)

    def log_poll(self, state: SystemState, now: float, failure: Exception | None) -> None:
        """Logs how the whole poll went."""
        self._log_problem("poll", failure is not None and type(failure).__name__, "poll failed",
                      "polls succeed again", logging.ERROR, error=failure)  # fmt: skip
        if not self._had_succeeded and state.last_response is not None:
            self._had_succeeded = True
            self._log_first_response(state)
        self._log_problem("stale", state.is_stale(now) and state.last_response is not None,
                      "no response for three intervals, series dropped",
                      "series served again", logging.ERROR)  # fmt: skip
        self._log_problem("cap", state.rendered.dropped > 0, "series above max_series dropped, raise it or filter names",
                      "series within max_series again", dropped=state.rendered.dropped)  # fmt: skip
        dropped = state.signals.removed_dropped
        self._log_problem("removed", dropped > 0, "too many assets removed in an hour, some that come back do not count as recreated",
                      "all removed assets of the last hour are known again", dropped=dropped)  # fmt: skip
        seconds = state.poll_seconds or 0.0
        self._log_problem("pace", seconds > self.interval, "poll takes longer than the interval, raise it",
                      "polls fit the interval again", seconds=round(seconds, 1),
                      interval=self.interval)  # fmt: skip

    def _log_first_response(self, state: SystemState) -> None:
        snapshot = state.snapshot
        if snapshot is not None:
            event(logger, logging.INFO, "first response", system=self.system,
                  streams=len(snapshot.streams), consumers=len(snapshot.consumers),
                  series=state.rendered.series)  # fmt: skip

    def _log_servers(self, snapshot: Snapshot) -> None:
        if not snapshot.servers:  # nothing is known about the servers
            return
        for server in snapshot.servers:
            level, message = (
                (logging.INFO, "server responds")
                if server.up
                else (logging.WARNING, "server does not respond")
            )
            self._states.report(("server", server.name), server.up, level, message,
                                system=self.system, server=server.name)  # fmt: skip
        present = {server.name for server in snapshot.servers}
        for name in self._servers - present:
            self._states.forget(("server", name))
            event(logger, logging.INFO, "server removed", system=self.system, server=name)
        self._servers = present

    def _log_problem(
        self,
        key: Hashable,
        wrong: str | bool,
        begun: str,
        over: str,
        level: int = logging.WARNING,
        **fields: object,
    ) -> None:
        """`wrong` is empty or False without a problem; another text is another problem."""
        if wrong:
            self._wrong.add(key)
            self._states.report(key, wrong, level, begun, system=self.system, **fields)
        elif key in self._wrong:
            self._wrong.discard(key)
            self._states.forget(key)
            kept = {name: fields[name] for name in ("request", "reason") if fields.get(name)}
            event(logger, logging.INFO, over, system=self.system, **kept)
