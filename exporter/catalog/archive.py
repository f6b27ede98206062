"""The archive."""

from __future__ import annotations

from functools import partial

from exporter.catalog.definition import define
from exporter.metric import Origin, Subject

_archive = partial(define, subject=Subject.ARCHIVE, labels=(), origin=Origin.ARCHIVE)

# An entry is a name, its help text and one line of facts; the formatter would spread the facts.
# fmt: off

ARCHIVE_REQUESTS = _archive("archive_requests_total",
    "Remote-write requests by the status code of the response.",
    labels=("code",))
ARCHIVE_SAMPLES = _archive("archive_samples_total",
    "Samples received and made durable.")
ARCHIVE_HISTOGRAMS = _archive("archive_histograms_total",
    "Native histograms received and made durable, stored as received.")
ARCHIVE_EXEMPLARS = _archive("archive_exemplars_total",
    "Exemplars received and made durable, stored as received.")
ARCHIVE_REFUSED_REQUESTS = _archive("archive_refused_requests_total",
    "Requests rejected permanently, so that the sender drops them: size (the body is too large), "
    "malformed (not a valid request), parts (some of its series; the others are stored), "
    "encoding (another content type or compression).",
    labels=("reason",))
ARCHIVE_REFUSED_SAMPLES = _archive("archive_refused_samples_total",
    "Samples, histograms and exemplars that can never be stored, by the rule that they break. "
    "The rest of the request is stored.",
    labels=("reason",))
ARCHIVE_DEFERRED_REQUESTS = _archive("archive_deferred_requests_total",
    "Requests rejected with 503, so that the sender retries: busy (too many in progress), slow "
    "(the body did not arrive in time), disk (the log cannot be written), stopping, fault "
    "(internal error).",
    labels=("reason",))
ARCHIVE_RECEIVED_BYTES = _archive("archive_received_bytes_total",
    "Compressed size of the remote-write requests received.")
ARCHIVE_DROPPED_CONNECTIONS = _archive("archive_dropped_connections_total",
    "Connections closed before their request was complete: evicted (at the maximum a new one "
    "replaces the oldest without a request), refused (all are busy), timeout (the headers did not "
    "arrive in time), handshake (TLS failed), accept (the system has no descriptor left).",
    labels=("reason",),
    purpose="For an engineer whose sender fails: whether clients that send nothing fill the server.")
ARCHIVE_QUARANTINED_REQUESTS = _archive("archive_quarantined_requests_total",
    "Requests that could never be stored and were saved for inspection.")
ARCHIVE_QUARANTINE_DROPPED_REQUESTS = _archive("archive_quarantine_dropped_requests_total",
    "Refused requests that are not in the quarantine folder: rate (enough of this sender and rule "
    "in this minute), size (larger than the folder may be), queue (the disk is too slow), disk "
    "(it cannot be written), oldest (deleted for a newer one).",
    labels=("reason",),
    purpose="For an engineer who looks for a refused request that was not kept.")
ARCHIVE_DUPLICATE_SAMPLES = _archive("archive_duplicate_samples_total",
    "Samples removed at compaction because the series already had one with the same timestamp: "
    "senders retry what was not acknowledged.")
ARCHIVE_DROPPED_SAMPLES = _archive("archive_dropped_samples_total",
    "Samples that were acknowledged and not published: conflict (another value for the same "
    "timestamp came later), other_replica (the chosen replica has them), unknown_series (the log "
    "has no definition of the series), misplaced (a timestamp outside every day). The last two "
    "are lost.",
    labels=("reason",))
ARCHIVE_PUBLISH_CONFLICTS = _archive("archive_publish_conflicts_total",
    "Commits to a table that another writer of the same tables came before: publish (published "
    "again from the newer version), maintenance (compaction, deletion or upkeep was postponed).",
    labels=("work",),
    purpose="For an operator with several archives on one store: whether they delay each other.")
ARCHIVE_SERIES = _archive("archive_series",
    "Series that the receiver knows now.")
ARCHIVE_FORGOTTEN_SERIES = _archive("archive_forgotten_series_total",
    "Series forgotten because they had no sample for the time of publish.retention.series.",
    purpose="For an operator who wants to know how many series come and go.")
ARCHIVE_CLOCK_AHEAD_SECONDS = _archive("archive_clock_ahead_seconds",
    "How far the clock of the host was ahead of the data at the last maintenance; negative when it was "
    "before the newest day. Above a day nothing is deleted because of its age.",
    purpose="For an operator: whether a wrong clock, or the absence of data, holds up retention.")
ARCHIVE_WAL_BYTES = _archive("archive_wal_bytes",
    "Size of the write-ahead log that waits for compaction.")
ARCHIVE_WAL_DAMAGED_BYTES = _archive("archive_wal_damaged_bytes_total",
    "Bytes of the write-ahead log that could not be read, found since the start. The records before "
    "and behind them are published; archive inspect shows what is missing.",
    purpose="For an operator of the archive: any increase means a faulty disk and lost samples.")
ARCHIVE_WAL_OLDEST_TIMESTAMP_SECONDS = _archive("archive_wal_oldest_timestamp_seconds",
    "Time when the oldest record of the write-ahead log was received. An old one means that "
    "publishing does not run. Absent when the log is empty.")
ARCHIVE_COMPACTION_LAST_SUCCESS_TIMESTAMP_SECONDS = _archive(
    "archive_compaction_last_success_timestamp_seconds",
    "Time of the last successful compaction. Absent before the first one.")
ARCHIVE_NEWEST_SAMPLE_TIMESTAMP_SECONDS = _archive("archive_newest_sample_timestamp_seconds",
    "Time of the newest sample received from this sender. An old one means that the "
    "sender or the connection is broken.",
    labels=("sender",))
