"""From settings to a hearing: who listens where, as whom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from exporter.events.account_name import AccountName
from exporter.events.ack_tap import AckTap, TapLimits
from exporter.events.capture import Capture
from exporter.events.listener import Listener, Listening
from exporter.events.session import EventSession
from exporter.events.state import EventState
from exporter.settings.access import nats_access
from exporter.settings.events import EventAccountSettings, EventSettings
from exporter.sources.transport.connection import NatsLink
from exporter.sources.transport.credentials import NatsAccess


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a system's source brings along."""

    system: str  # the name of the NATS system
    source: Literal["account", "system", "monitor"]
    access: NatsAccess | None = None  # the source's own; none over HTTP
    link: NatsLink | None = None  # the account source's own, which it closes itself
    account: str = ""  # the name to show for the account, where it is configured
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class _Account:
    """The account to listen to: its access, and a link for requests."""

    access: NatsAccess
    link: NatsLink
    is_ours: bool  # the link is opened for the events alone


def make_event_session(settings: EventSettings, around: Surroundings) -> EventSession | None:
    """None when there is nothing to listen to."""
    if not settings.enabled:
        return None
    book = EventState()
    event_session = EventSession(book, _system_listeners(book, around))
    account = _account(settings, around)
    if account is not None:
        _listen_to(event_session, account, settings, around)
    name = around.account or (settings.account.name if settings.account else "")
    if name:
        book.name_account(name)
    elif account is not None and account.is_ours:
        event_session.account_name = AccountName(account.link, book)
    return event_session if event_session.listeners else None


def _system_listeners(book: EventState, around: Surroundings) -> tuple[Listener, ...]:
    if around.source != "system" or around.access is None:
        return ()
    plan = Listening(around.access, around.system, of_system_account=True, domain=around.domain)
    return (Listener(plan, book),)


def _account(settings: EventSettings, around: Surroundings) -> _Account | None:
    if around.source == "account":
        if around.access is None or around.link is None:
            raise ValueError("the account source has an access and a link")
        return _Account(around.access, around.link, is_ours=False)
    if settings.account is None:
        return None
    urls = around.access.addresses if around.access else ()
    access = account_access(settings.account, urls)
    link = NatsLink(access, f"streamgauge requests about events ({around.system})")
    return _Account(access, link, is_ours=True)


def account_access(settings: EventAccountSettings, urls: tuple[str, ...]) -> NatsAccess:
    """`urls`: where to go when the settings do not say."""
    return nats_access(settings, settings.urls or urls, settings.inbox_prefix)


def _listen_to(
    event_session: EventSession, account: _Account, settings: EventSettings, around: Surroundings
) -> None:
    book, captured, tap = event_session.book, settings.capture_stream, settings.publish_ack_tap
    plan = Listening(
        # It asks nothing, so it needs no inbox; a wrong one would only be another thing to explain.
        replace(account.access, inbox_prefix=""),
        around.system,
        consumer_advisories=not captured,
        domain=around.domain,
    )
    event_session.listeners += (Listener(plan, book),)
    if account.is_ours:
        event_session.link = account.link
    if captured:
        event_session.capture = Capture(
            account.link, book, captured, around.domain, settings.capture_batch
        )
    if tap.enabled:
        limits = TapLimits(tap.max_rate, tap.max_byte_rate, tap.queue)
        event_session.tap = AckTap(plan.access, book, around.system, tap.inbox_prefixes, limits)
