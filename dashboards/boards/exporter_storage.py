"""Archive and rollups on the pipeline board."""

from __future__ import annotations

from functools import partial

from alerts import thresholds as t
from dashboards.panels.colours import YES_IS_GOOD, plain, rising
from dashboards.panels.limits import Limits
from dashboards.panels.model import Guide, Panel, Query, StateTimeline, TimeSeries, Within
from dashboards.panels.tiles import leading, tile
from dashboards.queries import Scope
from exporter import catalog as c

_NO_ARCHIVE = "run streamgauge archive, and scrape it"
_NO_ROLLUPS = "run streamgauge rollup; set forecasts in the exporter"
_count = partial(tile, steps=plain(), width=8, no_value="no archive")
_graph = partial(TimeSeries, width=8, no_value=_NO_ARCHIVE)
_LEADS = {
    "Series known": Within("Samples into the archive"),
    "Last compaction": Within("Size of the WAL"),
    "Quarantined": Within("Samples not stored"),
}


def archive(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return leading(_archive(q, limits), _LEADS)


def _archive(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        _graph(
            title="Requests to the archive",
            guide=Guide(
                "Remote-write requests per second, by response code.",
                "4xx: never stored, and not sent again. 5xx: sent again, so only late.",
                "Check the log of the archive; quarantined requests are kept.",
            ),
            queries=(Query(q.rate(c.ARCHIVE_REQUESTS), "{{code}}"),),
            unit="reqps",
        ),
        _graph(
            title="Samples into the archive",
            guide=Guide(
                "Samples per second made durable, and duplicates removed at compaction.",
                "0 while Prometheus runs.",
                "Check remote write in Prometheus: its queue, its errors.",
            ),
            queries=(
                Query(q.rate(c.ARCHIVE_SAMPLES), "stored"),
                Query(q.rate(c.ARCHIVE_HISTOGRAMS), "histograms"),
                Query(q.rate(c.ARCHIVE_EXEMPLARS), "exemplars"),
                Query(q.rate(c.ARCHIVE_DUPLICATE_SAMPLES), "duplicates"),
            ),
            unit="cps",
        ),
        _graph(
            title="Newest sample of each sender",
            guide=Guide(
                "Age of the newest sample from each sender.",
                "Above the line: the sender or the network is broken.",
                "Check remote write in that Prometheus.",
            ),
            queries=(Query(q.age(c.ARCHIVE_NEWEST_SAMPLE_TIMESTAMP_SECONDS), "{{sender}}"),),
            unit="s",
            steps=rising(bad=limits.of(t.ARCHIVE_SILENCE)),
        ),
        *_not_stored(q),
        *_log(q, limits),
        *_archive_counts(q),
    )


def _not_stored(q: Scope) -> tuple[Panel, ...]:
    return (
        _graph(
            title="Requests not accepted",
            guide=Guide(
                "Requests per second that the archive refused for good, or deferred.",
                "Refused: these samples are missing. Deferred: Prometheus sends them again.",
                "The reason names the rule; the log of the archive has an example.",
            ),
            queries=(
                Query(q.rate(c.ARCHIVE_REFUSED_REQUESTS), "refused: {{reason}}"),
                Query(q.rate(c.ARCHIVE_DEFERRED_REQUESTS), "deferred: {{reason}}"),
            ),
            unit="reqps",
        ),
        _graph(
            title="Samples not stored",
            guide=Guide(
                "Samples per second of accepted requests that were refused or dropped, by reason.",
                "Anything that stays above 0: these samples are missing.",
                "The reason names the rule; correct the sender.",
            ),
            queries=(
                Query(q.rate(c.ARCHIVE_REFUSED_SAMPLES), "refused: {{reason}}"),
                Query(q.rate(c.ARCHIVE_DROPPED_SAMPLES), "dropped: {{reason}}"),
            ),
            unit="cps",
        ),
        _graph(
            title="Bytes received",
            guide=Guide(
                "Compressed bytes per second of all remote-write requests.",
                "A sudden step: new series, or a sender that sends again.",
                "Compare with Samples into the archive and Series known.",
            ),
            queries=(Query(q.rate(c.ARCHIVE_RECEIVED_BYTES), "received"),),
            unit="Bps",
        ),
    )


def _log(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        _graph(
            title="Size of the WAL",
            guide=Guide(
                "Size of the write-ahead log that waits for compaction.",
                "It only grows: compaction does not run, and the disk fills up.",
                "The log of the archive has the reason.",
            ),
            queries=(Query(q.now(c.ARCHIVE_WAL_BYTES), "log"),),
            unit="bytes",
        ),
        _graph(
            title="Oldest sample in the WAL",
            guide=Guide(
                "Age of the oldest sample that is not compacted yet.",
                "Above the line: compaction does not run.",
                "The log of the archive has the reason.",
            ),
            queries=(Query(q.age(c.ARCHIVE_WAL_OLDEST_TIMESTAMP_SECONDS), "oldest"),),
            unit="s",
            steps=rising(bad=limits.of(t.ARCHIVE_WAL_AGE)),
        ),
    )


def _archive_counts(q: Scope) -> tuple[Panel, ...]:
    compacted = q.age(c.ARCHIVE_COMPACTION_LAST_SUCCESS_TIMESTAMP_SECONDS)
    return (
        _count("Series known", q.now(c.ARCHIVE_SERIES), "short",
               Guide("Series that the archive knows.",
                     "A sudden step.",
                     "Find what was created; ephemeral consumers are the usual cause.")),
        _count("Last compaction", compacted, "s",
               Guide("Time since a compaction last succeeded.",
                     "Many hours.",
                     "The log of the archive has the reason.")),
        _count("Quarantined", q.increase(c.ARCHIVE_QUARANTINED_REQUESTS), "short",
               Guide("Requests in the shown time that could not be stored and were put into quarantine.",
                     "Anything above 0: these samples are missing.",
                     "Inspect the quarantine folder of the archive."),
               decimals=0),
    )  # fmt: skip


def rollups(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Age of the last rollup",
            guide=Guide(
                "Time since a rollup last succeeded.",
                "Above the line: every forecast is stale.",
                "Check the log of the rollup job.",
            ),
            queries=(Query(q.age(c.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS), "age"),),
            unit="s",
            steps=rising(bad=limits.of(t.ROLLUP_AGE)),
            no_value=_NO_ROLLUPS,
            width=16,
            height=6,
        ),
        StateTimeline(
            title="Forecast file",
            guide=Guide(
                "Whether each exporter could read its forecast file.",
                "No: it serves no forecasts.",
                "The log of the exporter has the reason.",
            ),
            queries=(Query(q.each_target(c.FORECAST_FILE_SUCCESS), "{{instance}}"),),
            mapping=YES_IS_GOOD,
            no_value="off: set forecasts in the exporter",
            width=8,
            height=6,
        ),
    )
