"""Servers and the meta group: up, healthy, with correct clocks and a leader."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import COUNT, DURATION, NUMBER, PERCENT, SERVER, SYSTEM, streams_at_risk
from alerts.open_alerts import until_it_ends
from alerts.quantity import Threshold
from alerts.queries import (
    LOOKBACK,
    certain_offset,
    changes,
    highest,
    increase,
    increase_before,
    judged,
    latest,
    samples,
    spread,
    throughout,
)
from alerts.rule import Alert, Board, Group, Severity
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression
from streamgauge.promql.functions import since

# The alerts that these two inhibit end later: the exporter requests health once a minute, and the
# leader sees a peer as offline until its first message. Without this the recovery would raise alerts.
_INHIBITED_END = "2m"

_START = catalog.SERVER_CONDITION_START_TIMESTAMP_SECONDS


def _lasts(alert: str, condition: str, at_least: Threshold, value: Metric) -> Expression:
    """Where every exporter says so: one alone may not reach the server. The value ends it, so that the
    condition has a look-back here, and a missed scrape needs nothing else."""
    began = samples(_START, "last_over_time", LOOKBACK, match={"condition": condition})
    age = since(began.folded("min", by=catalog.SERVER))
    return until_it_ends(alert, age > at_least, age).where(latest(value).equals(0))


DOWN = Alert(
    name="ServerDown",
    severity=Severity.WARNING,
    when=_lasts("ServerDown", "down", thresholds.SERVER_DOWN, catalog.SERVER_UP),
    for_="0s",
    keep_firing_for=_INHIBITED_END,
    guarded=False,  # when no server responds the data is stale, and the alert must still fire
    summary="A NATS server does not respond.",
    description=f"{SERVER} has not responded for {DURATION}. It was seen within the last hour."
    + streams_at_risk(),
    condition="A server that was seen within the last hour (a setting of the exporter) has not "
    "responded to any exporter for <server_down> (condition down).",
    board=Board.FLEET,
)

UNHEALTHY = Alert(
    name="ServerUnhealthy",
    severity=Severity.WARNING,
    when=_lasts(
        "ServerUnhealthy", "unhealthy", thresholds.SERVER_UNHEALTHY, catalog.SERVER_HEALTHY
    ),
    for_="0s",
    summary="A NATS server reports itself as unhealthy.",
    description=f"{SERVER} responds, and has reported itself as unhealthy for {DURATION}: see its "
    "healthz for the reason.",
    condition="The health check of the server has failed for <server_unhealthy> (condition "
    "unhealthy).",
    board=Board.FLEET,
)

_off = certain_offset(
    catalog.SERVER_CLOCK_OFFSET_SECONDS, catalog.SERVER_CLOCK_UNCERTAINTY_SECONDS
) > judged(thresholds.CLOCK_OFFSET)
_apart = spread(catalog.SERVER_CLOCK_OFFSET_SECONDS, "server") > judged(thresholds.CLOCK_OFFSET)

CLOCK_OFFSET = Alert(
    name="ServerClockOffset",
    severity=Severity.WARNING,
    when=_off.or_(_apart.unless(_off.max_without("server"))),
    for_="10m",
    summary="The clock of a NATS server is wrong.",
    description="{{ with $labels.server }}The clock of server {{ . }} (system "
    "{{ $labels.system }}) is off{{ else }}The clocks of the servers of system "
    "{{ $labels.system }} differ{{ end }} "
    f"by at least {DURATION}. If every server of the system is listed, check the clock of the "
    "exporter's machine first.",
    condition="A server's clock is off by more than <clock_offset> beyond the uncertainty of the "
    "measurement, or the clocks of two servers differ by more than that.",
    board=Board.CLOCKS,
)


def _errors(errors: Metric, requests: Metric) -> Expression:
    enough = increase(requests, "15m") >= thresholds.API_REQUESTS_LEAST
    return increase(errors, "15m") / enough > thresholds.API_ERROR_RATIO


API_ERRORS = Alert(
    name="ServerApiErrors",
    severity=Severity.WARNING,
    when=_errors(catalog.SERVER_API_ERRORS, catalog.SERVER_API_REQUESTS).or_(
        # The account source has only the requests of its own account.
        _errors(catalog.ACCOUNT_API_ERRORS, catalog.ACCOUNT_API_REQUESTS).unless(
            increase(catalog.SERVER_API_REQUESTS, "15m", by=catalog.SYSTEM)
        )
    ),
    for_="15m",
    summary="JetStream API requests fail.",
    description="{{ with $labels.server }}Server {{ . }}{{ else }}Account {{ $labels.account }}"
    f"{{{{ end }}}} ({SYSTEM}): {PERCENT} of the JetStream API requests of the last 15 minutes "
    "failed. Rejected publishes are not among them.",
    condition="More than <api_error_ratio> of at least <api_requests_least> JetStream API requests "
    "in 15 minutes failed; of a server, or of the account where servers are not seen.",
    board=Board.FLEET,
)

_slow_clients = increase(catalog.SERVER_SLOW_CONSUMERS, "10m")

CLIENTS_TOO_SLOW = Alert(
    name="ClientsTooSlow",
    severity=Severity.WARNING,
    when=(_slow_clients > 0).or_(
        (increase(catalog.ACCOUNT_SLOW_CONSUMERS, "10m") > 0).unless(_slow_clients)
    ),
    for_="0s",
    keep_firing_for="15m",
    summary="A server disconnected slow clients.",
    description=f"{SERVER} disconnected about {COUNT} clients in the last 10 minutes because "
    "they did not read fast enough{{ with $labels.account }} (account {{ . }}){{ end }}. Messages "
    "in flight to them are lost; push consumers redeliver them after ack_wait.",
    condition="The server's count of slow consumers rose in the last 10 minutes. These are client "
    "connections, not JetStream consumers.",
    board=Board.FLEET,
)

# A server that is down does not lead, even if it did in its last response.
_leaders = latest(catalog.META_LEADER).where(latest(catalog.SERVER_UP).equals(1))

META_LEADER_MISSING = Alert(
    name="MetaLeaderMissing",
    severity=Severity.CRITICAL,
    when=_leaders.sum_without("server").equals(0),
    for_="1m",
    keep_firing_for=_INHIBITED_END,
    summary="The JetStream cluster has no meta leader.",
    description="System {{ $labels.system }} has no meta leader: nothing can be created, changed or "
    "deleted, and no stream that loses its leader's server is moved. Running streams go on.",
    condition="No responding server of a clustered system leads the meta group.",
    board=Board.FLEET,
)

META_PEER_OFFLINE = Alert(
    name="MetaPeerOffline",
    severity=Severity.WARNING,
    when=throughout(catalog.META_REPLICA_OFFLINE, "5m").equals(1),
    for_="0s",
    summary="A member of the meta group is offline.",
    description=f"{SERVER} is offline for the meta leader. It still counts for the quorum.",
    condition="The meta leader has reported a member as offline for 5 minutes.",
    board=Board.FLEET,
)

META_PENDING_HIGH = Alert(
    name="MetaPendingHigh",
    severity=Severity.WARNING,
    when=latest(catalog.META_PENDING) > thresholds.META_PENDING,
    for_="10m",
    summary="The meta leader does not keep up.",
    description=f"The meta leader of system {{{{ $labels.system }}}} has {NUMBER} pending "
    "operations: creating and changing streams and consumers is slow or times out.",
    condition="The meta leader has more than <meta_pending> pending operations.",
    board=Board.FLEET,
)

_WINDOW_SECONDS = 15 * 60
_requests = increase(catalog.SERVER_API_REQUESTS, "15m").sum_without("server") / _WINDOW_SECONDS
_requests_before = (
    increase_before(catalog.SERVER_API_REQUESTS, "15m", "1d").sum_without("server")
    / _WINDOW_SECONDS
)

API_REQUESTS_HIGH = Alert(
    name="ServerApiRequestsHigh",
    severity=Severity.INFO,
    when=(_requests > thresholds.API_REQUEST_RATE).where(
        _requests > _requests_before * thresholds.API_REQUEST_GROWTH
    ),
    for_="15m",
    summary="A system gets many more JetStream API requests than the day before.",
    description=f"The servers of system {{{{ $labels.system }}}} got {NUMBER} JetStream API requests "
    "a second in the last 15 minutes, several times those of the day before: a client probably requests "
    "stream or consumer info in a loop, or creates a consumer for each message.",
    condition="More than <api_request_rate> JetStream API requests a second, and more than "
    "<api_request_growth> times those of the same time of the day before.",
    board=Board.FLEET,
)

# A leader change shows as a new 1: the servers that led in the last hour.
_led = (highest(catalog.META_LEADER, "1h") > 0).count_without("server")
_changes = changes(catalog.META_LEADER, "1h").sum_without("server") / 2

META_LEADER_FLAPPING = Alert(
    name="MetaLeaderFlapping",
    severity=Severity.WARNING,
    when=(_changes > thresholds.META_LEADER_CHANGES).where(_led > 1),
    for_="0s",
    keep_firing_for="15m",
    summary="The meta leader changes again and again.",
    description=f"The meta leader of system {{{{ $labels.system }}}} changed about {COUNT} times in the "
    "last hour: during each election nothing can be created or changed.",
    condition="The meta leader changed more than <meta_leader_changes> times in an hour.",
    board=Board.FLEET,
)

GROUPS = (
    Group(
        "streamgauge.server",
        (
            META_LEADER_MISSING,
            META_LEADER_FLAPPING,
            API_REQUESTS_HIGH,
            DOWN,
            UNHEALTHY,
            CLOCK_OFFSET,
            API_ERRORS,
            CLIENTS_TOO_SLOW,
            META_PEER_OFFLINE,
            META_PENDING_HIGH,
        ),
    ),
)
