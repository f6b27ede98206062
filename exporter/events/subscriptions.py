"""Builds the event session of a system from its settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from exporter.events.account_name import AccountName
from exporter.events.ack_tap import AckTap, TapLimits
from exporter.events.capture import Capture
from exporter.events.listener import Listener, ListenerConfig
from exporter.events.session import EventSession
from exporter.events.state import EventState
from exporter.settings.events import EventAccountSettings, EventSettings
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.credentials import NatsAccess


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What the events need to know about the system's source."""

    system: str  # the name of the NATS system
    source: Literal["account", "system", "monitor"]
    access: NatsAccess | None = None  # of the source; None over HTTP
    connection: NatsConnection | None = None  # of the account source, which closes it
    account: str = ""  # the configured name of the account
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class _Account:
    """The account whose events are counted: its access, and a connection for requests."""

    access: NatsAccess
    connection: NatsConnection
    is_ours: bool  # the connection belongs to the event session


def make_event_session(settings: EventSettings, source_info: SourceInfo) -> EventSession | None:
    """None when there is nothing to subscribe to."""
    if not settings.enabled:
        return None
    state = EventState()
    event_session = EventSession(state, _system_listeners(state, source_info))
    account = _account(settings, source_info)
    if account is not None:
        _listen_to(event_session, account, settings, source_info)
    name = source_info.account or (settings.account.name if settings.account else "")
    if name:
        state.name_account(name)
    elif account is not None and account.is_ours:
        event_session.account_name = AccountName(account.connection, state)
    if not event_session.listeners:
        return None
    event_session.fit_into()
    return event_session


def _system_listeners(state: EventState, source_info: SourceInfo) -> tuple[Listener, ...]:
    if source_info.source != "system" or source_info.access is None:
        return ()
    config = ListenerConfig(
        source_info.access, source_info.system, of_system_account=True, domain=source_info.domain
    )
    return (Listener(config, state),)


def _account(settings: EventSettings, source_info: SourceInfo) -> _Account | None:
    if source_info.source == "account":
        if source_info.access is None or source_info.connection is None:
            raise ValueError("the account source needs an access and a connection")
        return _Account(source_info.access, source_info.connection, is_ours=False)
    if settings.account is None:
        return None
    access = account_access(settings.account, source_info.access)
    connection = NatsConnection(access, f"streamgauge requests about events ({source_info.system})")
    return _Account(access, connection, is_ours=True)


def account_access(settings: EventAccountSettings, of_source: NatsAccess | None) -> NatsAccess:
    """`of_source`: has the default addresses, and with them whether they require TLS."""
    if settings.urls or of_source is None:
        return settings.nats_access(settings.urls, settings.inbox_prefix)
    access = settings.nats_access(of_source.addresses, settings.inbox_prefix)
    return replace(access, tls_inherited=of_source.requires_tls)


def _listen_to(
    event_session: EventSession, account: _Account, settings: EventSettings, source_info: SourceInfo
) -> None:
    state, captured, tap = event_session.state, settings.capture_stream, settings.publish_ack_tap
    config = ListenerConfig(
        # It sends no requests, so it needs no inbox, and a wrong prefix must not matter.
        replace(account.access, inbox_prefix=""),
        source_info.system,
        consumer_advisories=not captured,
        domain=source_info.domain,
    )
    event_session.listeners += (Listener(config, state),)
    if account.is_ours:
        event_session.connection = account.connection
    if captured:
        event_session.capture = Capture(
            account.connection, state, captured, source_info.domain, settings.capture_batch
        )
    if tap.enabled:
        limits = TapLimits(tap.max_rate, tap.max_byte_rate, tap.queue)
        event_session.tap = AckTap(
            config.access, state, source_info.system, tap.inbox_prefixes, limits
        )
