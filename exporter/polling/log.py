"""What the log says of a system's polls: one line when something changes, none while it stays."""

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
        """What the servers said to this poll's requests."""
        for outcome in snapshot.outcomes:
            self._log_problem(("request", outcome.request), outcome.reason or not outcome.ok,
                          "request failed", "request answered again",
                          request=outcome.request, reason=outcome.reason,
                          detail=outcome.detail)  # fmt: skip
        faults = {("fault", fault.request, fault.reason): fault for fault in snapshot.faults}
        for key, fault in faults.items():
            self._log_problem(key, True, "part of an answer is left out", "", request=fault.request,
                          reason=fault.reason, count=fault.count, detail=fault.detail)  # fmt: skip
        for key in [key for key in self._wrong if isinstance(key, tuple) and key[0] == "fault"]:
            if key not in faults:
                self._log_problem(key, False, "", "nothing of that kind is left out any more",
                              request=key[1], reason=key[2])  # fmt: skip
        self._log_servers(snapshot)

    def log_poll(self, state: SystemState, now: float, failure: Exception | None) -> None:
        """How the poll as a whole went."""
        self._log_problem("poll", failure is not None and type(failure).__name__, "poll failed",
                      "polls succeed again", logging.ERROR, error=failure)  # fmt: skip
        if not self._had_succeeded and state.last_response is not None:
            self._had_succeeded = True
            self._log_first_response(state)
        self._log_problem("stale", state.is_stale(now) and state.last_response is not None,
                      "no answer for three intervals: its series are dropped",
                      "its series are served again", logging.ERROR)  # fmt: skip
        self._log_problem("cap", state.rendered.dropped > 0, "series beyond max_series are left out",
                      "all series fit again", dropped=state.rendered.dropped)  # fmt: skip
        seconds = state.poll_seconds or 0.0
        self._log_problem("pace", seconds > self.interval, "a poll takes longer than the interval",
                      "polls keep to the interval again", seconds=round(seconds, 1),
                      interval=self.interval)  # fmt: skip

    def _log_first_response(self, state: SystemState) -> None:
        snapshot = state.snapshot
        if snapshot is not None:
            event(logger, logging.INFO, "first answer", system=self.system,
                  streams=len(snapshot.streams), consumers=len(snapshot.consumers),
                  series=state.rendered.series)  # fmt: skip

    def _log_servers(self, snapshot: Snapshot) -> None:
        if not snapshot.servers:  # nobody could say anything about servers
            return
        for server in snapshot.servers:
            level, message = (
                (logging.INFO, "server answers")
                if server.up
                else (logging.WARNING, "server is silent")
            )
            self._states.report(("server", server.name), server.up, level, message,
                                system=self.system, server=server.name)  # fmt: skip
        present = {server.name for server in snapshot.servers}
        for name in self._servers - present:
            self._states.forget(("server", name))
            event(logger, logging.INFO, "server is forgotten", system=self.system, server=name)
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
        """`wrong` is empty or False while all is well; another word is another trouble."""
        if wrong:
            self._wrong.add(key)
            self._states.report(key, wrong, level, begun, system=self.system, **fields)
        elif key in self._wrong:
            self._wrong.discard(key)
            self._states.forget(key)
            counts = {name: fields[name] for name in ("request", "reason") if fields.get(name)}
            event(logger, logging.INFO, over, system=self.system, **counts)
