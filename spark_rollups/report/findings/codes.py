"""THE codes of the report's findings, once. A code is permanent: other programs wait for it.

To add a finding, add its definition here and the function that finds it beside its kind.
"""

from __future__ import annotations

from spark_rollups.report.findings.finding import Definition

# --- capacity -------------------------------------------------------------------------------------

STREAM_FULL = Definition(
    "CAP-STREAM-FULL",
    "A stream is full and refuses messages",
    "Make room at once",
    "A stream with discard policy new refuses every publish once it is full. Publishers get an error, "
    "and what they do not keep is lost.",
    "Give it room, or let its consumers finish what lies in it: a work queue empties by "
    "acknowledgements.",
    (
        "nats stream edit {stream} --max-bytes {max_bytes} --dry-run",
        "nats stream edit {stream} --max-msgs {max_messages} --dry-run",
        "nats consumer report {stream}",
    ),
    "JetStreamStreamFull",
)
STREAM_FULL_SOON = Definition(
    "CAP-STREAM-FULL-SOON",
    "A stream will reach its limit",
    "Raise the limit, or keep less",
    "From that day on it refuses publishes (discard policy new), or drops its oldest messages earlier "
    "than today (discard policy old).",
    "Raise the limit where servers and account have room, or keep less: a shorter max_age, or consumers "
    "that finish.",
    (
        "nats stream edit {stream} --max-bytes {max_bytes} --dry-run",
        "nats stream edit {stream} --max-msgs {max_messages} --dry-run",
        "nats server report jetstream",
    ),
    "JetStreamStreamForecastFull",
)
SERVER_FULL_SOON = Definition(
    "CAP-SERVER-FULL-SOON",
    "A server will run out of JetStream storage",
    "Add storage, or move streams away",
    "On that day streams with a replica there refuse publishes, and no new stream can be placed there.",
    "Raise max_file_store (or max_memory_store) in its configuration where the machine has room, limit "
    "streams that grow without bound, or move streams to other servers.",
    ("nats server report jetstream", "nats stream report --storage"),
    "JetStreamServerForecastFull",
)
SERVER_STORAGE_HIGH = Definition(
    "CAP-SERVER-STORAGE-HIGH",
    "A server's JetStream storage is nearly used up",
    "Add storage, or move streams away",
    "At its maximum the server refuses publishes to every stream that has a replica there.",
    "Raise max_file_store where the disk has room, or take streams away from this server.",
    ("nats server report jetstream", "nats stream report --storage"),
    "JetStreamServerStorageHigh",
)
ACCOUNT_FULL_SOON = Definition(
    "CAP-ACCOUNT-FULL-SOON",
    "An account will reach its limit",
    "Raise the account's limit, or keep less",
    "At its limit every stream of the account refuses publishes, whatever room the servers have.",
    "Raise the account's limit, or keep less in its largest streams.",
    ("nats account info", "nats stream report --storage"),
    "JetStreamAccountStorageHigh",
)
ACCOUNT_HIGH = Definition(
    "CAP-ACCOUNT-HIGH",
    "An account has used most of its limit",
    "Raise the account's limit, or keep less",
    "At its limit every stream of the account refuses publishes, whatever room the servers have.",
    "Raise the account's limit, or keep less in its largest streams.",
    ("nats account info", "nats stream report --storage"),
    "JetStreamAccountStorageHigh",
)
FORECAST_UNKNOWN = Definition(
    "CAP-FORECAST-UNKNOWN",
    "For some limits no date can be told",
    "Let the archive run until a date can be told",
    "They have too little history, too many gaps, or ended. A limit without a date is not a safe one.",
    "Let the archive run; a forecast needs 24 days with data, 14 of them in the last four weeks.",
    (),
    "JetStreamRollupOverdue",
)

# --- consumers ------------------------------------------------------------------------------------

MESSAGES_LOST = Definition(
    "CON-MESSAGES-LOST",
    "Messages were removed before a consumer got them",
    "Keep messages longer, and get the consumer going",
    "The stream's limits removed them, and the consumer skipped over them. No error reached anybody.",
    "Let the stream keep more, and get the consumer going. Lost messages come back only from a mirror, "
    "a backup or the publisher.",
    (
        "nats stream info {stream}",
        "nats consumer info {stream} {consumer}",
        "nats stream edit {stream} --max-age LONGER_AGE --dry-run",
    ),
    "JetStreamConsumerMessagesLost",
)
HEADROOM_LOW = Definition(
    "CON-HEADROOM-LOW",
    "A consumer came close to losing messages",
    "Keep messages longer, or speed the consumer up",
    "Its first unfinished message was near the end that retention removes.",
    "Speed the consumer up, or let the stream keep more than its worst backlog.",
    (
        "nats consumer info {stream} {consumer}",
        "nats stream edit {stream} --max-age LONGER_AGE --dry-run",
    ),
    "JetStreamConsumerRetentionHeadroomLow",
)
REDELIVERY_HIGH = Definition(
    "CON-REDELIVERY-HIGH",
    "Many deliveries were repeated ones",
    "Find out why deliveries repeat",
    "Work is done twice, or not at all: acknowledgements come too late, are refused, or do not come.",
    "Compare the time that work takes with ack_wait; mend workers that fail; space retries by a backoff.",
    (
        "nats consumer info {stream} {consumer}",
        "nats consumer edit {stream} {consumer} --wait {ack_wait} --dry-run",
    ),
    "JetStreamConsumerRedeliveryHigh",
)
NOT_WELL = Definition(
    "CON-NOT-WELL",
    "A consumer was not well for a large part of the month",
    "Get the consumer well",
    "It fell behind, was stuck, looped, or had nobody who took its messages.",
    "Look at the state that held longest; its runbook says what to do.",
    ("nats consumer info {stream} {consumer}", "nats consumer report {stream}"),
    "JetStreamConsumerStalled",
)
LAG_WORSE = Definition(
    "CON-LAG-WORSE",
    "A consumer's lag got much worse than the month before",
    "Give the consumer more or faster workers",
    "Its oldest unfinished message waited longer than before; if this goes on, retention will overtake it.",
    "More or faster workers; a larger pull batch; fewer redeliveries.",
    ("nats consumer info {stream} {consumer}", "nats consumer graph {stream} {consumer}"),
    "JetStreamConsumerBacklogGrowing",
)
MESSAGES_ABANDONED = Definition(
    "CON-MESSAGES-ABANDONED",
    "Messages ran out of max_deliver and lie in the stream",
    "Deal with the abandoned messages, and mend their cause",
    "They were not processed, and nobody will get them again. On work queues and interest streams they "
    "stay and take room for ever; elsewhere they vanish with age.",
    "Find out why they failed. Then copy them away, publish them again or remove them, one by one. "
    "Keep the advisories, so that none is missed. Raising max_deliver does not bring them back.",
    (
        "nats consumer info {stream} {consumer}",
        "nats stream add DEAD_LETTERS --subjects '$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>' "
        "--defaults",
    ),
    "JetStreamConsumerMessagesAbandoned",
)

EPHEMERALS_GROW = Definition(
    "CON-EPHEMERALS-GROW",
    "A stream gathers ephemeral consumers",
    "Find the application that makes consumers and does not remove them",
    "Each costs memory and work on the server, and more with each replica.",
    "An application makes one at every start or request. Let it use one durable consumer, or an ordered "
    "consumer that ends with its connection.",
    (
        "nats consumer report {stream}",
        "nats consumer find {stream} --expression 'config.durable_name == \"\"'",
    ),
    "JetStreamConsumerEphemeralLeak",
)

# --- right-sizing ---------------------------------------------------------------------------------

ACK_PENDING_HIGH = Definition(
    "SIZE-ACK-PENDING-HIGH",
    "A consumer worked at its limit of unacknowledged messages",
    "Raise max_ack_pending, or add workers",
    "At max_ack_pending the server stops delivering; the workers wait although messages are there.",
    "Raise max_ack_pending if the workers could take more; else they are the limit, not the setting.",
    ("nats consumer edit {stream} {consumer} --max-pending {max_pending} --dry-run",),
    "JetStreamConsumerAckPendingHigh",
)
ACK_PENDING_LOOSE = Definition(
    "SIZE-ACK-PENDING-LOOSE",
    "A limit of unacknowledged messages is far above what was ever used",
    "Lower max_ack_pending",
    "When workers hang, the server hands out that many messages before anybody notices, and all of them "
    "come again.",
    "Lower max_ack_pending to about twice the month's peak.",
    ("nats consumer edit {stream} {consumer} --max-pending {max_pending} --dry-run",),
    "JetStreamConsumerAckPendingHigh",
)
ACK_WAIT_SHORT = Definition(
    "SIZE-ACK-WAIT-SHORT",
    "Acknowledgements take a large part of ack_wait",
    "Raise ack_wait",
    "A little more work a message, and finished messages are delivered again. Where a backoff is set, its "
    "steps count in place of ack_wait.",
    "Raise ack_wait to at least twice the slow acknowledgements, or send in-progress notes.",
    ("nats consumer edit {stream} {consumer} --wait {ack_wait} --dry-run",),
    "JetStreamConsumerAckWaitTooShort",
)
RESERVED_UNUSED = Definition(
    "SIZE-RESERVED-UNUSED",
    "A stream reserves much more than it ever used",
    "Lower the limit, or use the room",
    "A max_bytes is promised to the stream: nobody else can reserve that room, used or not.",
    "Lower the limit to about twice the month's peak, or use the room.",
    ("nats stream edit {stream} --max-bytes {max_bytes} --dry-run",),
)

# --- publishing -----------------------------------------------------------------------------------

PUBLISHES_UNSTORED = Definition(
    "PUB-NOT-STORED",
    "Publishes reached a stream and were not stored",
    "Tell duplicates from rejections",
    "They were duplicates or were rejected. Duplicates are harmless; a rejected message exists nowhere "
    "else unless its publisher keeps it.",
    "Turn on the publish-ack tap to tell duplicates from rejections, and look at the publishers' errors.",
    ("nats stream info {stream}",),
    "JetStreamPublishesNotStored",
)
PUBLISHES_REJECTED = Definition(
    "PUB-REJECTED",
    "Publishes were rejected",
    "Look at the publishers' errors",
    "The server answered them with an error. They are not in the stream.",
    "The code tells why: 10071 is a wrong expected sequence, two writers or a retry with an old one; "
    "10077 is a stream that is full.",
    ("nats errors lookup {error_code}", "nats stream info {stream}"),
    "JetStreamPublishConflictsHigh",
)
DEDUPE_MEMORY = Definition(
    "PUB-DEDUPE-MEMORY",
    "The duplicate window takes much memory",
    "Shorten the duplicate window",
    "Every replica holds the message ids of the window in memory; nothing bounds them but the window.",
    "Shorten the window to the longest time in which publishers retry.",
    ("nats stream edit {stream} --dupe-window 2m --dry-run",),
    "JetStreamDedupeMemoryHigh",
)

# --- servers and clocks ---------------------------------------------------------------------------

SERVER_NOT_RESPONDING = Definition(
    "SRV-NOT-ANSWERING",
    "A server did not answer for part of the month",
    "Find out why it did not answer",
    "Streams with a replica there had one copy less, or none.",
    "Look at what the machine did on those days; compare with the restarts.",
    ("nats server report health", "nats server list"),
    "JetStreamServerDown",
)
SERVER_API_ERRORS = Definition(
    "SRV-API-ERRORS",
    "Many JetStream API requests failed",
    "See who asks for what is not there",
    "Clients ask for streams or consumers that are not there, or lack permission; some cannot work.",
    "See who asks, and what is answered.",
    ("nats events --js-advisory --short --filter err_code",),
    "JetStreamServerApiErrors",
)
CLIENTS_CUT = Definition(
    "SRV-CLIENTS-CUT",
    "A server cut connections that did not read fast enough",
    "Find the clients that read too slowly",
    "Such a client loses what was on its way, and comes back. It has nothing to do with JetStream consumers.",
    "Find the clients; give them more time or fewer subscriptions on one connection.",
    ("nats server report connections --state closed --closed-reason 'slow consumer'",),
    "JetStreamClientsTooSlow",
)
CLOCK_OFFSET = Definition(
    "CLK-OFFSET",
    "A server's clock was off",
    "Repair the time service",
    "max_age, message TTL and the duplicate window follow the server's clock, and times in a stream jump "
    "when its leader changes. The order of messages does not depend on it.",
    "Repair the time service on that machine, and let it slew.",
    ("chronyc tracking", "timedatectl status"),
    "JetStreamServerClockOffset",
)

# --- changes --------------------------------------------------------------------------------------

SEQUENCE_BACK = Definition(
    "CHG-SEQUENCE-BACK",
    "A stream went back: acknowledged messages are gone",
    "Have the lost messages published again",
    "Its last sequence fell without being made again: a crash with unsynced writes, or a restore.",
    "Find the day in the changes, compare with restarts and restores, and ask the publishers to send again.",
    ("nats stream info {stream}", "nats server consumer-check --unsynced"),
    "JetStreamStreamDataLost",
)
STREAM_RECREATED = Definition(
    "CHG-STREAM-RECREATED",
    "A stream was deleted and made again",
    "Make sure that somebody meant it",
    "Its messages and consumers are gone, and its sequence began anew: publishers that expect a sequence fail.",
    "If nobody meant it, find who did it; applications should not delete and create at start.",
    ("nats stream info {stream}",),
    "JetStreamStreamRecreated",
)
STREAM_RESTORED = Definition(
    "CHG-STREAM-RESTORED",
    "A stream was restored from a backup",
    "Compare its consumers with the stream",
    "What was stored after the backup is gone; consumers may stand ahead of the stream.",
    "Compare consumers with the stream.",
    ("nats server consumer-check --unsynced",),
    "JetStreamStreamRestored",
)
QUORUM_LOST = Definition(
    "CHG-QUORUM-LOST",
    "A stream lost the majority of its replicas",
    "Look at servers and network",
    "Meanwhile it stored nothing.",
    "Look at servers and network on those days.",
    ("nats stream info {stream}", "nats server report health"),
    "JetStreamStreamNoLeader",
)
CONSUMER_RECREATED = Definition(
    "CHG-CONSUMER-RECREATED",
    "A consumer was made again or reset",
    "Stop applications from making it again",
    "By its deliver policy it skips messages or gets them a second time.",
    "Applications should use what is there and not delete and create at start.",
    (
        "nats consumer info {stream} {consumer}",
        "nats events --js-advisory --short --filter 'API.CONSUMER.(CREATE|DURABLE|DELETE|RESET)'",
    ),
    "JetStreamConsumerRecreated",
)
CONSUMERS_REMOVED = Definition(
    "CHG-CONSUMERS-REMOVED",
    "Durable consumers were removed",
    "Make sure that somebody meant it",
    "Nobody works on their share of the messages any more; on interest streams the messages go with them.",
    "If nobody meant it, look for an inactive_threshold on durables, and for applications that clean up.",
    ("nats consumer ls {stream}",),
    "JetStreamConsumerRemoved",
)
LEADERS_MANY = Definition(
    "CHG-LEADERS-MANY",
    "A stream changed its leader very often",
    "Look at disks, processors and network",
    "Each election stops the stream for a moment and can repeat deliveries.",
    "Look for slow disks, starved processors and a poor network between the servers.",
    ("nats stream info {stream}", "nats server report jetstream"),
    "JetStreamStreamLeaderFlapping",
)
DATA_DAMAGED = Definition(
    "CHG-DATA-DAMAGED",
    "A server found damaged messages in its store",
    "Check the disk, and restore",
    "It counts them as lost: they cannot be read any more.",
    "Check the disk of that server, and restore from a replica or a backup.",
    ("nats stream info {stream}",),
    "JetStreamStreamDataLost",
)

# --- configuration --------------------------------------------------------------------------------

CONFIGURATION = Definition(
    "CFG-AUDIT",
    "The audit's checks fail",
    "Mend the configuration",
    "The configuration will hurt sooner or later, although it works today.",
    "Each check of the audit says why it matters and what to do.",
    ("streamgauge audit --only {check}",),
    "JetStreamConfigFinding",
)

# --- what is not known ----------------------------------------------------------------------------

DAYS_MISSING = Definition(
    "DATA-DAYS-MISSING",
    "Days or hours of the month are missing",
    "See to it that the archive receives without a gap",
    "What happened then is not in any number here: sums are too low, and worst values may be worse.",
    "See whether the exporter, Prometheus or the archive was away; import the gap while a Prometheus still "
    "has it.",
    ("streamgauge archive inspect ARCHIVE",),
    "JetStreamArchiveNotReceiving",
)
SERIES_DROPPED = Definition(
    "DATA-SERIES-DROPPED",
    "The exporter left series out at its cap",
    "Raise the exporter's cap",
    "What was left out is missing in every chapter.",
    "Raise the cap, or leave out what nobody looks at.",
    (),
    "JetStreamExporterSeriesDropped",
)
REQUESTS_FAILED = Definition(
    "DATA-QUESTIONS-UNANSWERED",
    "Requests were not answered or left out",
    "See why requests are not answered",
    "What hangs on them is unknown in this report.",
    "The table in the chapter on data quality says which ones and why.",
    (),
    "JetStreamExporterPartial",
)
EVENTS_NOT_RECEIVED = Definition(
    "DATA-EVENTS-UNHEARD",
    "Nobody listened to advisories",
    "Let the exporter listen to advisories",
    "Refusals, exhausted messages and restores are told by advisories only; without them their counts are "
    "too low or missing.",
    "Give the exporter a user that may listen to advisories.",
    (),
)

ALL: tuple[Definition, ...] = tuple(v for v in globals().values() if isinstance(v, Definition))
BY_CODE = {definition.code: definition for definition in ALL}
