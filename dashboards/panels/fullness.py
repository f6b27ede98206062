"""Fill ratios of streams and servers, and the thresholds of their colours."""

from __future__ import annotations

from alerts import thresholds as t
from dashboards.panels.colours import Step, rising
from dashboards.panels.limits import Limits
from dashboards.queries import Scope
from exporter import catalog as c
from streamgauge.promql.expression import Expression
from streamgauge.promql.selectors import Regex

# max_age is reached by design, and max_consumers stops no publish.
_SIZE_LIMITS = Regex("bytes|messages")


def of_stream(scope: Scope) -> Expression:
    """Share of max_bytes and of max_msgs, one series for each."""
    return scope.now(c.STREAM_FILL_RATIO, limit=_SIZE_LIMITS)


def stream_steps(limits: Limits) -> tuple[Step, ...]:
    return rising(limits.of(t.STREAM_FILLING_RATIO), limits.of(t.STREAM_FULL_RATIO))


def account_steps(limits: Limits) -> tuple[Step, ...]:
    return rising(limits.of(t.ACCOUNT_HIGH_RATIO), limits.of(t.ACCOUNT_FULL_RATIO))


def of_server_files(scope: Scope) -> Expression:
    used, most = scope.now(c.SERVER_STORAGE_USED_BYTES), scope.now(c.SERVER_STORAGE_MAX_BYTES)
    return used.over(most)


def of_server_memory(scope: Scope) -> Expression:
    used, most = scope.now(c.SERVER_MEMORY_USED_BYTES), scope.now(c.SERVER_MEMORY_MAX_BYTES)
    return used.over(most)


def server_steps(limits: Limits) -> tuple[Step, ...]:
    return rising(bad=limits.of(t.SERVER_STORAGE_RATIO))
