"""The definitions of all findings.

To add a finding, add its definition here and the function that yields it to a module beside.
Programs select findings by code.
"""

from __future__ import annotations

from spark_rollups.report.findings.finding import Definition

# --- capacity -------------------------------------------------------------------------------------

STREAM_FULL = Definition(
    "CAP-STREAM-FULL",
    "A stream is full and rejects messages",
    "Raise the limit or remove messages now",
    "A full stream with discard policy new rejects every publish. Publishers get an error, and what "
    "they do not keep is lost.",
    "Raise its limit, or let its consumers finish: acknowledgements remove messages from a work queue.",
    ("nats consumer report {stream}",),
    "JetStreamStreamFull",
)
STREAM_FULL_SOON = Definition(
    "CAP-STREAM-FULL-SOON",
    "A stream will reach its limit",
    "Raise the limit, or keep less",
    "From that day on it rejects publishes (discard policy new), or discards its oldest messages earlier "
    "than today (discard policy old).",
    "Raise the limit if servers and account have free storage, or keep less: a shorter max_age, or "
    "consumers that finish.",
    ("nats server report jetstream",),
    "JetStreamStreamForecastFull",
    otherwise="From that day on it rejects publishes (discard new), or drops messages earlier than today (discard old).",
)
SERVER_FULL_SOON = Definition(
    "CAP-SERVER-FULL-SOON",
    "A server will run out of JetStream storage",
    "Add storage, or move streams away",
    "From that day on, streams with a replica there reject publishes, and no new stream can be placed.",
    "Raise max_file_store (or max_memory_store) if the machine has free space, limit streams that grow "
    "without bound, or move streams to other servers.",
    ("nats server report jetstream", "nats stream report --storage"),
    "JetStreamServerForecastFull",
)
SERVER_STORAGE_HIGH = Definition(
    "CAP-SERVER-STORAGE-HIGH",
    "A server has little JetStream storage left",
    "Add storage, or move streams away",
    "At its maximum the server rejects publishes to every stream with a replica there.",
    "Raise max_file_store if the disk has free space, or move streams to other servers.",
    ("nats server report jetstream", "nats stream report --storage"),
    "JetStreamServerStorageHigh",
)
ACCOUNT_FULL_SOON = Definition(
    "CAP-ACCOUNT-FULL-SOON",
    "An account will reach its limit",
    "Raise the account's limit, or keep less",
    "At its limit every stream of the account rejects publishes, even if the servers have free storage.",
    "Raise the account's limit, or keep less in its largest streams.",
    ("nats account info", "nats stream report --storage"),
    "JetStreamAccountStorageHigh",
)
ACCOUNT_HIGH = Definition(
    "CAP-ACCOUNT-HIGH",
    "An account has used most of its limit",
    "Raise the account's limit, or keep less",
    "At its limit every stream of the account rejects publishes, even if the servers have free storage.",
    "Raise the account's limit, or keep less in its largest streams.",
    ("nats account info", "nats stream report --storage"),
    "JetStreamAccountStorageHigh",
)
FORECAST_UNKNOWN = Definition(
    "CAP-FORECAST-UNKNOWN",
    "The date of some limits is unknown",
    "Keep the archive running until dates are known",
    "Their series have too little history, too many gaps, or ended. A limit without a date may be near.",
    "Keep the archive running; a forecast needs 24 days with data, 14 of them in the last four weeks.",
    (),
    "JetStreamRollupOverdue",
)

# --- consumers ------------------------------------------------------------------------------------

MESSAGES_LOST = Definition(
    "CON-MESSAGES-LOST",
    "Messages were removed before a consumer got them",
    "Keep messages longer, and fix the consumer",
    "The limits of the stream removed them, and the consumer skipped them without an error.",
    "Let the stream keep more, and fix the consumer. Only a mirror, a backup or the publisher can "
    "restore lost messages.",
    (
        "nats stream info {stream}",
        "nats consumer info {stream} {consumer}",
    ),
    "JetStreamConsumerMessagesLost",
    otherwise="The next time it is that far behind, it loses messages again.",
)
HEADROOM_LOW = Definition(
    "CON-HEADROOM-LOW",
    "A consumer came close to losing messages",
    "Keep messages longer, or speed the consumer up",
    "Its oldest unfinished message was among the next that retention removes.",
    "Speed the consumer up, or let the stream keep more than its worst backlog.",
    ("nats consumer info {stream} {consumer}",),
    "JetStreamConsumerRetentionHeadroomLow",
    otherwise="With a slightly longer backlog, limits remove messages before it gets them.",
)
REDELIVERY_HIGH = Definition(
    "CON-REDELIVERY-HIGH",
    "Many deliveries were redeliveries",
    "Find the cause of redeliveries",
    "Work is done twice, or not at all: acks are late or missing, or workers send naks.",
    "Compare the processing time with ack_wait; fix workers that fail; use a backoff for retries.",
    (
        "nats consumer info {stream} {consumer}",
        "nats consumer edit {stream} {consumer} --wait {ack_wait} --dry-run",
    ),
    "JetStreamConsumerRedeliveryHigh",
)
NOT_WELL = Definition(
    "CON-NOT-WELL",
    "A consumer was not well for a large part of the month",
    "Fix the consumer",
    "It was falling behind, stuck, in a redelivery loop, or no worker pulled messages.",
    "Start with the state that lasted longest, and follow its runbook.",
    ("nats consumer info {stream} {consumer}", "nats consumer report {stream}"),
    "JetStreamConsumerStalled",
    otherwise="Its backlog grows until limits remove messages that it has not processed, or the stream is full.",
)
LAG_WORSE = Definition(
    "CON-LAG-WORSE",
    "A consumer's lag got much worse than the month before",
    "Give the consumer more or faster workers",
    "Its oldest unfinished message waited longer than before; retention may remove messages next.",
    "Add workers or make them faster, pull larger batches, reduce redeliveries.",
    ("nats consumer info {stream} {consumer}", "nats consumer graph {stream} {consumer}"),
    "JetStreamConsumerBacklogGrowing",
    otherwise="Its backlog grows until limits remove messages that it has not processed, or the stream is full.",
)
MESSAGES_ABANDONED = Definition(
    "CON-MESSAGES-ABANDONED",
    "Messages reached max_deliver and remain in the stream",
    "Handle the abandoned messages, and fix the cause",
    "They were not processed and will not be delivered again. On work queues and interest streams they "
    "use storage for ever; elsewhere limits remove them.",
    "Find out why they failed. Then copy, republish or delete each of them. Store the advisories, so "
    "that you miss none. A higher max_deliver does not deliver them again.",
    (
        "nats consumer info {stream} {consumer}",
        "nats stream add DEAD_LETTERS --subjects '$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>' "
        "--defaults",
    ),
    "JetStreamConsumerMessagesAbandoned",
    otherwise="They are never processed, and on work queues they use storage for ever.",
)

EPHEMERALS_GROW = Definition(
    "CON-EPHEMERALS-GROW",
    "A stream accumulates ephemeral consumers",
    "Find the application that creates consumers and does not delete them",
    "Each costs memory and CPU on the server, more so with replicas.",
    "An application creates one at every start or request. Let it use one durable consumer, or an "
    "ordered consumer that ends with its connection.",
    (
        "nats consumer report {stream}",
        "nats consumer find {stream} --expression 'config.durable_name == \"\"'",
    ),
    "JetStreamConsumerEphemeralLeak",
)

# --- right-sizing ---------------------------------------------------------------------------------

ACK_PENDING_HIGH = Definition(
    "SIZE-ACK-PENDING-HIGH",
    "A consumer reached its limit of unacknowledged messages",
    "Raise max_ack_pending, or add workers",
    "At max_ack_pending the server stops delivering; workers wait although messages are pending.",
    "Raise max_ack_pending if the workers can process more; otherwise add workers.",
    ("nats consumer edit {stream} {consumer} --max-pending {max_pending} --dry-run",),
    "JetStreamConsumerAckPendingHigh",
)
ACK_PENDING_LOOSE = Definition(
    "SIZE-ACK-PENDING-LOOSE",
    "A limit of unacknowledged messages is far above what was ever used",
    "Lower max_ack_pending",
    "When workers hang, the server delivers that many messages, and redelivers all of them later.",
    "Lower max_ack_pending to about twice the month's peak.",
    ("nats consumer edit {stream} {consumer} --max-pending {max_pending} --dry-run",),
    "JetStreamConsumerAckPendingHigh",
)
ACK_WAIT_SHORT = Definition(
    "SIZE-ACK-WAIT-SHORT",
    "Acknowledgements take a large share of ack_wait",
    "Raise ack_wait",
    "With slightly longer processing, finished messages are redelivered. If a backoff is set, its steps "
    "replace ack_wait.",
    "Raise ack_wait to at least twice the slow acknowledgements, or send in-progress acks.",
    ("nats consumer edit {stream} {consumer} --wait {ack_wait} --dry-run",),
    "JetStreamConsumerAckWaitTooShort",
)
RESERVED_UNUSED = Definition(
    "SIZE-RESERVED-UNUSED",
    "A stream reserves much more than it ever used",
    "Lower the limit",
    "The server reserves max_bytes for the stream; no other stream can reserve that storage.",
    "Lower the limit to about twice the peak of the month.",
    ("nats stream edit {stream} --max-bytes {max_bytes} --dry-run",),
)

# --- publishing -----------------------------------------------------------------------------------

PUBLISHES_UNSTORED = Definition(
    "PUB-NOT-STORED",
    "Publishes reached a stream and were not stored",
    "Find out which were duplicates",
    "They were duplicates or were rejected. Duplicates are harmless; a rejected message is lost unless "
    "its publisher keeps it.",
    "Enable the publish-ack tap to distinguish duplicates from rejections, and check the publishers' "
    "errors.",
    ("nats stream info {stream}",),
    "JetStreamPublishesNotStored",
)
PUBLISHES_REJECTED = Definition(
    "PUB-REJECTED",
    "Publishes were rejected",
    "Check the publishers' errors",
    "The server responded with an error. The messages are not in the stream.",
    "The error code has the reason: 10071 is a wrong expected sequence, from two writers or a retry; "
    "10077 is a full stream.",
    ("nats errors lookup {error_code}", "nats stream info {stream}"),
    "JetStreamPublishConflictsHigh",
)
DEDUPE_MEMORY = Definition(
    "PUB-DEDUPE-MEMORY",
    "The duplicate window uses much memory",
    "Shorten the duplicate window",
    "Every replica holds the message ids of the window in memory; only the window bounds them.",
    "Shorten the window to the longest time during which publishers retry.",
    ("nats stream edit {stream} --dupe-window 2m --dry-run",),
    "JetStreamDedupeMemoryHigh",
)

# --- servers and clocks ---------------------------------------------------------------------------

SERVER_NOT_RESPONDING = Definition(
    "SRV-NOT-RESPONDING",
    "A server did not respond for part of the month",
    "Find out why it did not respond",
    "Streams with a replica there had one replica less, or none.",
    "Check the machine on those days; compare with the restarts.",
    ("nats server report health", "nats server list"),
    "JetStreamServerDown",
)
SERVER_API_ERRORS = Definition(
    "SRV-API-ERRORS",
    "Many JetStream API requests failed",
    "Find the clients whose requests fail",
    "Clients request streams or consumers that do not exist, or lack permissions.",
    "Find these clients and the errors that they get.",
    ("nats events --js-advisory --short --filter err_code",),
    "JetStreamServerApiErrors",
)
CLIENTS_CUT = Definition(
    "SRV-CLIENTS-CUT",
    "A server closed connections of slow clients",
    "Find the clients that read too slowly",
    "Such a client loses messages in flight and reconnects. This is unrelated to JetStream consumers.",
    "Find the clients; make them faster, or use fewer subscriptions per connection.",
    ("nats server report connections --state closed --closed-reason 'slow consumer'",),
    "JetStreamClientsTooSlow",
)
CLOCK_OFFSET = Definition(
    "CLK-OFFSET",
    "A server's clock was off",
    "Fix the time service",
    "max_age, message TTL and the duplicate window depend on the server's clock, and timestamps in a "
    "stream jump when its leader changes. The order of messages does not depend on it.",
    "Fix the time service on that machine, and let it slew the clock.",
    ("chronyc tracking", "timedatectl status"),
    "JetStreamServerClockOffset",
)

# --- changes --------------------------------------------------------------------------------------

SEQUENCE_BACK = Definition(
    "CHG-SEQUENCE-BACK",
    "The sequence of a stream went back: acknowledged messages are lost",
    "Have the lost messages published again",
    "Its last sequence decreased, but it was not recreated: a crash with unsynced writes, or a restore.",
    "Find the day in the changes, compare with restarts and restores, and have publishers send again.",
    ("nats stream info {stream}", "nats server consumer-check --unsynced"),
    "JetStreamStreamDataLost",
)
STREAM_RECREATED = Definition(
    "CHG-STREAM-RECREATED",
    "A stream was deleted and recreated",
    "Check that this was intended",
    "Its messages and consumers are deleted, and its sequence restarted: publishers that expect a "
    "sequence fail.",
    "If not intended, find the client that did it; applications should not recreate streams at start.",
    ("nats stream info {stream}",),
    "JetStreamStreamRecreated",
)
STREAM_RESTORED = Definition(
    "CHG-STREAM-RESTORED",
    "A stream was restored from a backup",
    "Compare its consumers with the stream",
    "Messages stored after the backup are lost; consumers may be ahead of the stream.",
    "Compare consumers with the stream.",
    ("nats server consumer-check --unsynced",),
    "JetStreamStreamRestored",
)
QUORUM_LOST = Definition(
    "CHG-QUORUM-LOST",
    "A stream lost the majority of its replicas",
    "Check servers and network",
    "Without a quorum it stored nothing.",
    "Check servers and network on those days.",
    ("nats stream info {stream}", "nats server report health"),
    "JetStreamStreamNoLeader",
)
CONSUMER_RECREATED = Definition(
    "CHG-CONSUMER-RECREATED",
    "A consumer was recreated or reset",
    "Stop applications from recreating it",
    "Depending on its deliver policy it skips messages or gets them twice.",
    "Applications should use the existing consumer and not recreate it at start.",
    (
        "nats consumer info {stream} {consumer}",
        "nats events --js-advisory --short --filter 'API.CONSUMER.(CREATE|DURABLE|DELETE|RESET)'",
    ),
    "JetStreamConsumerRecreated",
)
CONSUMERS_REMOVED = Definition(
    "CHG-CONSUMERS-REMOVED",
    "Durable consumers were removed",
    "Check that this was intended",
    "No worker processes their messages any more; interest streams delete the messages too.",
    "If not intended, look for an inactive_threshold on durables, and for applications that delete them.",
    ("nats consumer ls {stream}",),
    "JetStreamConsumerRemoved",
)
LEADERS_MANY = Definition(
    "CHG-LEADERS-MANY",
    "A stream had many leader elections",
    "Check disks, CPU and network",
    "Each election interrupts the stream and can cause redeliveries.",
    "Look for slow disks, CPU starvation and a slow network between the servers.",
    ("nats stream info {stream}", "nats server report jetstream"),
    "JetStreamStreamLeaderFlapping",
)
DATA_DAMAGED = Definition(
    "CHG-DATA-DAMAGED",
    "A server found damaged messages in its store",
    "Check the disk and restore the messages",
    "The server counts them as lost: it cannot read them.",
    "Check the disk of that server, and restore from a replica or a backup.",
    ("nats stream info {stream}",),
    "JetStreamStreamDataLost",
)

# --- configuration --------------------------------------------------------------------------------

CONFIGURATION = Definition(
    "CFG-AUDIT",
    "Checks of the audit fail",
    "Fix the configuration",
    "The configuration works today, but is a risk.",
    "`streamgauge audit` shows why each check matters and what to do.",
    ("streamgauge audit --only {check}",),
    "JetStreamConfigFinding",
    otherwise="The configuration works today and fails when load, retention or a server changes.",
)

# --- missing data ---------------------------------------------------------------------------------

DAYS_MISSING = Definition(
    "DATA-DAYS-MISSING",
    "Days or hours of the month are missing",
    "Keep the archive receiving without gaps",
    "The report does not cover that time: sums are too low, and worst values may be worse.",
    "Check whether the exporter, Prometheus or the archive was down; import the gap while Prometheus "
    "still has it.",
    ("streamgauge archive inspect ARCHIVE",),
    "JetStreamArchiveNotReceiving",
)
SERIES_DROPPED = Definition(
    "DATA-SERIES-DROPPED",
    "The exporter dropped series at its limit",
    "Raise the series limit of the exporter",
    "Dropped series are missing in every chapter.",
    "Raise the limit, or exclude assets that you do not need.",
    (),
    "JetStreamExporterSeriesDropped",
)
REQUESTS_FAILED = Definition(
    "DATA-REQUESTS-FAILED",
    "Requests failed or were skipped",
    "Find out why requests fail",
    "What depends on them is unknown in this report.",
    "The chapter on data quality lists the requests and the reasons.",
    (),
    "JetStreamExporterPartial",
)
EVENTS_NOT_RECEIVED = Definition(
    "DATA-EVENTS-NOT-RECEIVED",
    "No advisories were received",
    "Let the exporter subscribe to advisories",
    "Only advisories report naks, exhausted messages and restores; without them the counts are too low "
    "or missing.",
    "Give the exporter a user that may subscribe to advisories.",
    (),
)

ALL: tuple[Definition, ...] = tuple(v for v in globals().values() if isinstance(v, Definition))
BY_CODE = {definition.code: definition for definition in ALL}
