"""Variables of the boards, each scoped by those before it, and selections of assets."""

from __future__ import annotations

from dashboards import queries
from dashboards.panels.model import Variable
from dashboards.queries import Scope, variable_matcher
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql import functions
from streamgauge.promql.aggregations import Call
from streamgauge.promql.expression import Expression
from streamgauge.promql.selectors import Not, Selector, select_any

# One series that is always present, of each program that serves our metrics.
_SERVED_BY = (catalog.UP, catalog.ARCHIVE_SERIES, catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS)

# A state of work, no fault.
NOT_LONG_JOBS = Not("long_jobs")

JOB = Variable(
    "job",
    "Job",
    f"label_values({select_any(*(metric.name for metric in _SERVED_BY))}, job)",
)


def _values(label: str, metric: Metric, *scoped_by: str) -> str:
    return f"label_values({Scope(scoped_by).selector(metric)}, {label})"


def _exporter_address() -> Expression:
    """As a label `page`, the address of each exporter for a browser: as the links of alerts make it."""
    exporters = Selector(catalog.WEB_INFO, (variable_matcher("job"),), by_target=True)
    each = exporters.max_by("external_url", "scheme", "instance")
    scraped = Call("label_join", each, after=("page", "://", "scheme", "instance"), added=("page",))
    return functions.copy_label(scraped, "external_url", "page", "(.+)")


EXPORTER = Variable(
    "exporter",
    "Exporter",
    f"query_result({_exporter_address()})",
    all_values=False,
    regex='/page="([^"]+)"/',
    hidden=True,
)
# Where the scrape adds no such label there is All alone, which includes series without it.
CLUSTER = Variable(queries.CLUSTER, "Cluster", _values(queries.CLUSTER, catalog.UP), all_value=".*")
SYSTEM = Variable("system", "System", _values("system", catalog.UP, "cluster"))
ACCOUNT = Variable("account", "Account", _values("account", catalog.STREAM_UP, "cluster", "system"))
SERVER = Variable("server", "Server", _values("server", catalog.SERVER_UP, "cluster", "system"))
_STREAM_QUERY = _values("stream", catalog.STREAM_UP, "cluster", "system", "account")
STREAM = Variable("stream", "Stream", _STREAM_QUERY)
# Boards about one asset start with one asset, not with all.
ONE_STREAM = Variable("stream", "Stream", _STREAM_QUERY, all_values=False)
ONE_CONSUMER = Variable(
    "consumer",
    "Consumer",
    _values("consumer", catalog.CONSUMER_UP, "cluster", "system", "account", "stream"),
    all_values=False,
)


def scope_of(*variables: Variable) -> Scope:
    """Every selector has the job without a variable of the scope."""
    return Scope(tuple(each.name for each in variables if each not in (JOB, EXPORTER)))


def discard_new(scope: Scope) -> Expression:
    """Streams that reject new messages when full."""
    return scope.info(catalog.STREAM_INFO, discard="new")


def discard_old(scope: Scope) -> Expression:
    """Streams that discard old messages when full: they are full by design."""
    return scope.info(catalog.STREAM_INFO, discard="old")


def unwell(scope: Scope) -> Expression:
    """For how long consumers have had a condition, other than busy with long jobs."""
    start = catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS
    began = scope.selector(start, {"condition": NOT_LONG_JOBS}).min_by(*catalog.CONSUMER)
    return functions.since(began)


# Names of series: with its system where a board shows many. The name comes first: a legend cuts the end.
STREAM_PATH = "{{stream}} ({{system}}/{{account}})"
CONSUMER_PATH = "{{stream}}/{{consumer}} ({{system}}/{{account}})"
CONSUMER_OF_STREAM = "{{stream}}/{{consumer}}"
SERVER_PATH = "{{server}} ({{system}})"
ACCOUNT_PATH = "{{account}} ({{system}})"
