"""The outcome of one request that is sent to several servers: it succeeds only if all do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from exporter.errors import RequestError
from exporter.model import Outcome
from exporter.sources.request_context import RequestContext


@dataclass(slots=True)
class CombinedOutcome:
    _seconds: dict[str, float] = field(default_factory=dict)
    _errors: dict[str, list[RequestError]] = field(default_factory=dict)
    _succeeded: set[str] = field(default_factory=set)

    @contextmanager
    def request(self, name: str, server: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
            self._succeeded.add(name)
        except RequestError as error:
            self.failed(name, RequestError(error.reason, f"{server}: {error.detail}"))
        finally:
            took = time.perf_counter() - started
            self._seconds[name] = max(took, self._seconds.get(name, 0.0))

    def failed(self, name: str, error: RequestError) -> None:
        self._seconds.setdefault(name, 0.0)
        self._errors.setdefault(name, []).append(error)

    def report_to(self, context: RequestContext) -> None:
        for name, took in self._seconds.items():
            errors = self._errors.get(name)
            if not errors:
                context.outcomes.append(Outcome(name, True, took))
                continue
            reason, detail = errors[0].reason, "; ".join(error.detail for error in errors)
            # It would be too large again: skip it for a while, unless it succeeds on other servers.
            if reason == "size" and name not in self._succeeded:
                context.failed(name, took, RequestError(reason, detail))
            else:
                context.outcomes.append(Outcome(name, False, took, reason, detail))
