"""Servers and the meta group: there, healthy, on time, with a leader."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import COUNT, DURATION, NUMBER, PERCENT, SERVER, SYSTEM
from alerts.queries import (
    certain_offset,
    increase,
    latest,
    spread,
)
from alerts.rule import Alert, Board, Group, Severity
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression

# What these two keep quiet ends later than they do: health is asked once a minute, and a peer is
# offline in its leader's view until it has spoken. Without this the return would be told as a fault.
_FOLLOWERS_NOTICE = "2m"

DOWN = Alert(
    name="ServerDown",
    severity=Severity.WARNING,
    when=latest(catalog.SERVER_UP).equals(0),
    hold="2m",
    keep=_FOLLOWERS_NOTICE,
    guarded=False,  # when all servers are silent the data is stale, and that is when it must speak
    summary="A NATS server does not answer.",
    description=f"{SERVER} has not answered for 2 minutes. It was seen within the last hour.",
    condition="A server that was seen within the last hour (a setting of the exporter) does not "
    "answer.",
    board=Board.FLEET,
)

UNHEALTHY = Alert(
    name="ServerUnhealthy",
    severity=Severity.WARNING,
    when=latest(catalog.SERVER_HEALTHY).equals(0),
    hold="5m",
    summary="A NATS server calls itself unhealthy.",
    description=f"{SERVER} answers and calls itself unhealthy: see its healthz for the reason.",
    condition="The server's own health check fails.",
    board=Board.FLEET,
)

_off = (
    certain_offset(catalog.SERVER_CLOCK_OFFSET_SECONDS, catalog.SERVER_CLOCK_UNCERTAINTY_SECONDS)
    > thresholds.CLOCK_OFFSET
)
_apart = spread(catalog.SERVER_CLOCK_OFFSET_SECONDS, "server") > thresholds.CLOCK_OFFSET

CLOCK_OFFSET = Alert(
    name="ServerClockOffset",
    severity=Severity.WARNING,
    when=_off.or_(_apart.unless(_off.max_by(*catalog.SYSTEM))),
    hold="10m",
    summary="The clock of a NATS server is wrong.",
    description="{{ with $labels.server }}The clock of server {{ . }} (system "
    "{{ $labels.system }}) is off{{ else }}The clocks of the servers of system "
    "{{ $labels.system }} differ{{ end }} "
    f"by at least {DURATION}. If every server of the system is named, suspect the clock of the "
    "exporter's own machine.",
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
        # An ordinary account knows only its own requests.
        _errors(catalog.ACCOUNT_API_ERRORS, catalog.ACCOUNT_API_REQUESTS).unless(
            increase(catalog.SERVER_API_REQUESTS, "15m", by=catalog.SYSTEM)
        )
    ),
    hold="15m",
    summary="JetStream API requests fail.",
    description="{{ with $labels.server }}Server {{ . }}{{ else }}Account {{ $labels.account }}"
    f"{{{{ end }}}} ({SYSTEM}): {PERCENT} of the JetStream API requests of the last 15 minutes were "
    "answered with an error. Rejected publishes are not among them.",
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
    hold="0s",
    keep="15m",
    summary="A server cut off clients that did not read fast enough.",
    description=f"{SERVER} cut off about {COUNT} client connections in the last 10 minutes because "
    "they did not read fast enough{{ with $labels.account }} (account {{ . }}){{ end }}. What was "
    "on its way to them is lost to them; push consumers deliver it again after ack_wait.",
    condition="The server's count of slow consumers rose in the last 10 minutes. These are client "
    "connections, not JetStream consumers.",
    board=Board.FLEET,
)

# A leader that is down leads nothing, though its last word was that it does.
_leading = latest(catalog.META_LEADER).where(latest(catalog.SERVER_UP).equals(1))

META_LEADER_MISSING = Alert(
    name="MetaLeaderMissing",
    severity=Severity.CRITICAL,
    when=_leading.sum_by(*catalog.SYSTEM).equals(0),
    hold="1m",
    keep=_FOLLOWERS_NOTICE,
    summary="The JetStream cluster has no meta leader.",
    description="System {{ $labels.system }} has no meta leader: nothing can be created, changed or "
    "deleted, and no stream that loses its leader's server is moved. Running streams go on.",
    condition="No server of a clustered system that answers leads the meta group.",
    board=Board.FLEET,
)

META_PEER_OFFLINE = Alert(
    name="MetaPeerOffline",
    severity=Severity.WARNING,
    when=latest(catalog.META_REPLICA_OFFLINE).equals(1),
    hold="5m",
    summary="A member of the meta group is offline.",
    description=f"{SERVER} is offline in the view of the meta leader. It still counts for the "
    "majority.",
    condition="The meta leader holds a member for offline.",
    board=Board.FLEET,
)

META_PENDING_HIGH = Alert(
    name="MetaPendingHigh",
    severity=Severity.WARNING,
    when=latest(catalog.META_PENDING) > thresholds.META_PENDING,
    hold="10m",
    summary="The meta leader does not keep up.",
    description=f"The meta leader of system {{{{ $labels.system }}}} has {NUMBER} operations still "
    "to apply: creating and changing streams and consumers is slow or times out.",
    condition="More than <meta_pending> operations wait at the meta leader.",
    board=Board.FLEET,
)

GROUPS = (
    Group(
        "streamgauge.server",
        (
            META_LEADER_MISSING,
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
