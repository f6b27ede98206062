"""What a visitor may choose on the boards: variables, each scoped by those before it."""

from __future__ import annotations

from dashboards.panels.colours import NOT_WELL
from dashboards.panels.model import Variable
from dashboards.queries import Scope, summed_over_range
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression
from streamgauge.promql.selectors import select_any

# One series that is always there, of each program that serves our metrics.
_SERVED_BY = (catalog.UP, catalog.ARCHIVE_SERIES, catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS)

JOB = Variable(
    "job",
    "Job",
    f"label_values({select_any(*(metric.name for metric in _SERVED_BY))}, job)",
)


def _values(label: str, metric: Metric, *scoped_by: str) -> str:
    return f"label_values({Scope(scoped_by).selector(metric)}, {label})"


SYSTEM = Variable("system", "System", _values("system", catalog.UP))
ACCOUNT = Variable("account", "Account", _values("account", catalog.STREAM_UP, "system"))
SERVER = Variable("server", "Server", _values("server", catalog.SERVER_UP, "system"))
_STREAM_QUERY = _values("stream", catalog.STREAM_UP, "system", "account")
STREAM = Variable("stream", "Stream", _STREAM_QUERY)
# The boards about one thing begin with one thing: all at once would answer no question.
ONE_STREAM = Variable("stream", "Stream", _STREAM_QUERY, all_values=False)
ONE_CONSUMER = Variable(
    "consumer",
    "Consumer",
    _values("consumer", catalog.CONSUMER_UP, "system", "account", "stream"),
    all_values=False,
)


def scope_of(*variables: Variable) -> Scope:
    """The job stands in every selector by itself."""
    return Scope(tuple(each.name for each in variables if each is not JOB))


def refusing(scope: Scope) -> Expression:
    """Streams that refuse new messages when full: for these a limit is a wall."""
    return scope.info(catalog.STREAM_INFO, discard="new")


def dropping(scope: Scope) -> Expression:
    """Streams that drop old messages when full: these are full by design."""
    return scope.info(catalog.STREAM_INFO, discard="old")


def unwell_longest(scope: Scope, count: int) -> Expression:
    """Verdicts of the consumers that were unwell longest in the shown time."""
    verdict = scope.now(catalog.CONSUMER_VERDICT)
    return verdict.where(summed_over_range(verdict.is_at_least(NOT_WELL)).top(count))


# Names of series: the whole path where a board shows many systems, else what tells them apart.
STREAM_PATH = "{{system}}/{{account}}/{{stream}}"
CONSUMER_PATH = "{{system}}/{{account}}/{{stream}}/{{consumer}}"
CONSUMER_OF_STREAM = "{{stream}}/{{consumer}}"
SERVER_PATH = "{{system}}/{{server}}"
ACCOUNT_PATH = "{{system}}/{{account}}"
