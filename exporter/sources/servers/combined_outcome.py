"""One question asked of several servers one by one: its outcome is good only if all answered."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from exporter.errors import QuestionError
from exporter.model import Outcome
from exporter.sources.request_context import Asking


@dataclass(slots=True)
class Tally:
    _seconds: dict[str, float] = field(default_factory=dict)
    _errors: dict[str, list[QuestionError]] = field(default_factory=dict)
    _answered: set[str] = field(default_factory=set)

    @contextmanager
    def question(self, name: str, server: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
            self._answered.add(name)
        except QuestionError as error:
            self.failed(name, QuestionError(error.reason, f"{server}: {error.detail}"))
        finally:
            took = time.perf_counter() - started
            self._seconds[name] = max(took, self._seconds.get(name, 0.0))

    def failed(self, name: str, error: QuestionError) -> None:
        self._seconds.setdefault(name, 0.0)
        self._errors.setdefault(name, []).append(error)

    def tell(self, asking: Asking) -> None:
        for name, took in self._seconds.items():
            errors = self._errors.get(name)
            if not errors:
                asking.outcomes.append(Outcome(name, True, took))
                continue
            reason, detail = errors[0].reason, "; ".join(error.detail for error in errors)
            # It would be too large again next time: let it rest, unless others answer it.
            if reason == "size" and name not in self._answered:
                asking.failed(name, took, QuestionError(reason, detail))
            else:
                asking.outcomes.append(Outcome(name, False, took, reason, detail))
