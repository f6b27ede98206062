"""Records advisories and ack samples of one account, or the copies of the system account."""

from __future__ import annotations

from dataclasses import dataclass, field

from nats.aio.msg import Msg

from exporter.events import ack_samples, advisories
from exporter.events.ack_samples import read_ack_sample
from exporter.events.advisories import read_advisory
from exporter.events.connection import EventConnection, EventSubscription
from exporter.events.state import OWN, EventState
from exporter.sources.decoding.decode import version_numbers
from exporter.sources.transport.credentials import NatsAccess

# Never more than these: with `$JS.EVENT.>` or `$JS.EVENT.ADVISORY.API` the server would repeat every
# response of its API, including our own lists.
STREAM_ADVISORIES = "$JS.EVENT.ADVISORY.STREAM.>"
CONSUMER_ADVISORIES = "$JS.EVENT.ADVISORY.CONSUMER.>"
ACCOUNT_SUBJECTS = (STREAM_ADVISORIES, CONSUMER_ADVISORIES, ack_samples.SUBJECT)
# Servers send the last three only to the system account, and of the first two only Raft events.
SYSTEM_SUBJECTS = (
    STREAM_ADVISORIES,
    CONSUMER_ADVISORIES,
    "$JS.EVENT.ADVISORY.DOMAIN.>",
    "$JS.EVENT.ADVISORY.SERVER.>",
    "$JS.EVENT.ADVISORY.API.LIMIT_REACHED",
)


@dataclass(frozen=True, slots=True)
class ListenerConfig:
    """Which connection and which subjects."""

    access: NatsAccess
    system: str  # the name of the NATS system, for logs
    of_system_account: bool = False
    consumer_advisories: bool = True  # False: a capture stream counts them
    domain: str | None = None  # None: the domain of the connected server

    @property
    def subjects(self) -> tuple[str, ...]:
        wanted = SYSTEM_SUBJECTS if self.of_system_account else ACCOUNT_SUBJECTS
        if self.consumer_advisories or self.of_system_account:
            return wanted
        return tuple(subject for subject in wanted if subject != CONSUMER_ADVISORIES)


@dataclass(slots=True)
class Listener:
    config: ListenerConfig
    state: EventState
    connection: EventConnection = field(init=False)

    def __post_init__(self) -> None:
        who = "system account's events" if self.config.of_system_account else "events"
        subscriptions = [
            EventSubscription(
                subject,
                self._on_ack_sample if subject == ack_samples.SUBJECT else self._on_advisory,
                in_exporter_group=True,
            )
            for subject in self.config.subjects
        ]
        self.connection = EventConnection(
            self.config.access, f"streamgauge {who} ({self.config.system})", subscriptions
        )

    async def run(self) -> None:
        await self.connection.run()

    @property
    def connected_since(self) -> float | None:
        """Since when advisories are received; None also when some of them are denied."""
        if self.connection.denied - {ack_samples.SUBJECT}:
            return None
        return self.connection.connected_since

    def _on_advisory(self, message: Msg) -> None:
        advisory = read_advisory(message.subject, message.data)
        account = advisory.account if self.config.of_system_account else OWN
        if advisory.kind != advisories.MALFORMED and self._is_of_another(advisory.domain):
            self.state.record_unusable(account, advisories.OTHER_DOMAIN)
            return
        self.state.record(account, advisory, reasons_reported=self._reasons_reported())

    def _on_ack_sample(self, message: Msg) -> None:
        sample = read_ack_sample(message.data)
        if sample is None:
            self.state.record_unusable(OWN, advisories.MALFORMED)
        elif self._is_of_another(sample.domain):
            self.state.record_unusable(OWN, advisories.OTHER_DOMAIN)
        else:
            self.state.record_ack(sample)

    def _is_of_another(self, domain: str) -> bool:
        expected, info = self.config.domain, self.connection.server_info
        if expected is None and info.get("jetstream"):
            expected = str(info.get("domain", ""))
        return expected is not None and domain != expected

    def _reasons_reported(self) -> bool:
        """Guessed for all servers from the version of the connected one."""
        return version_numbers(str(self.connection.server_info.get("version", ""))) >= (
            advisories.TERM_REASONS_SINCE
        )
