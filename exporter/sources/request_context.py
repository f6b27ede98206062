"""The requests of one poll: their deadline, outcomes, and which ones are skipped for now."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from exporter.errors import RequestError
from exporter.model import Outcome, Skipped

# A denied or oversized request writes a line to the server's log each time: retry rarely.
RETRY_AFTER_SECONDS = 300.0
# After a response that is too large, the next pages are smaller by this factor.
_PAGE_SHRINKS_BY = 32
_RETRY_SMALLER = ("size", "malformed", "api_error", "timeout")
_SKIP_REASONS = {"permission": "permission", "size": "size"}


@dataclass(slots=True)
class SkippedRequests:
    """Requests that the server refused: skipped for a while, which shows as request_skipped."""

    _until: dict[str, tuple[float, str]] = field(default_factory=dict)

    def is_skipped(self, request: str, now: float) -> bool:
        until, _ = self._until.get(request, (0.0, ""))
        return now < until

    def note(self, request: str, reason: str, now: float) -> None:
        if reason in _SKIP_REASONS and not self.is_skipped(request, now):
            self._until[request] = (now + RETRY_AFTER_SECONDS, _SKIP_REASONS[reason])

    def clear(self) -> None:
        self._until.clear()

    def skipped(self, now: float) -> tuple[Skipped, ...]:
        return tuple(
            Skipped(request, reason)
            for request, (until, reason) in sorted(self._until.items())
            if now < until
        )


def smaller_page(accounts: int, error: RequestError) -> int:
    """The page size in accounts after `error`; raises it when smaller pages would not help."""
    if error.reason != "size" or accounts <= 1:
        raise error
    return max(1, accounts // _PAGE_SHRINKS_BY)


@dataclass(slots=True)
class RequestContext:
    """The requests of one poll; a failed request never ends the poll."""

    deadline: float  # time.monotonic()
    skipped_requests: SkippedRequests
    outcomes: list[Outcome] = field(default_factory=list)

    def left(self, at_most: float = float("inf")) -> float:
        return max(0.05, min(at_most, self.deadline - time.monotonic()))

    def within(self, share: float) -> RequestContext:
        """The same requests with a share of the remaining time."""
        now = time.monotonic()
        return RequestContext(
            now + (self.deadline - now) * share, self.skipped_requests, self.outcomes
        )

    def is_skipped(self, request: str) -> bool:
        return self.skipped_requests.is_skipped(request, time.monotonic())

    @contextmanager
    def request(self, name: str) -> Iterator[None]:
        """Turns a RequestError of the block into an outcome, so that the poll goes on."""
        started = time.perf_counter()
        try:
            yield
        except RequestError as error:
            self.failed(name, time.perf_counter() - started, error)
        else:
            if not any(outcome.request == name for outcome in self.outcomes):
                self.outcomes.append(Outcome(name, True, time.perf_counter() - started))

    def failed(self, name: str, seconds: float, error: RequestError) -> None:
        self.skipped_requests.note(name, error.reason, time.monotonic())
        self.outcomes[:] = [outcome for outcome in self.outcomes if outcome.request != name]
        self.outcomes.append(Outcome(name, False, seconds, error.reason, error.detail))

    def succeeded(self, name: str) -> bool:
        return any(outcome.request == name and outcome.ok for outcome in self.outcomes)

    def refused(self, name: str) -> bool:
        """Whether it failed for a reason for which a smaller request may succeed."""
        return self.failed_with(name, _RETRY_SMALLER)

    def failed_with(self, name: str, reasons: Container[str]) -> bool:
        return any(o.request == name and o.reason in reasons for o in self.outcomes)

    def check_deadline(self, what: str) -> None:
        """Ends a sequence of requests: each one alone would get a little time."""
        if time.monotonic() >= self.deadline:
            raise RequestError("timeout", f"{what}: the deadline of the poll has passed")

    @property
    def complete(self) -> bool:
        """Whether no request failed and none was skipped."""
        skipped = self.skipped_requests.skipped(time.monotonic())
        return all(outcome.ok for outcome in self.outcomes) and not skipped
