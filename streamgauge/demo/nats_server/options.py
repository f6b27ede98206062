"""Typed options of a nats-server for demo and tests, and its configuration file."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SYSTEM_ACCOUNT: Final = "SYS"


@dataclass(frozen=True)
class Permissions:
    """Subjects a user may use; an empty allow list means everything."""

    publish_allow: tuple[str, ...] = ()
    publish_deny: tuple[str, ...] = ()
    subscribe_allow: tuple[str, ...] = ()
    subscribe_deny: tuple[str, ...] = ()
    allow_responses: bool = False


@dataclass(frozen=True)
class User:
    """A user with a password, or with an nkey (then name and password stay empty)."""

    name: str = ""
    password: str = ""
    nkey: str = ""
    permissions: Permissions | None = None


@dataclass(frozen=True)
class Account:
    """An account, its users, and further configuration lines of its own (limits, imports)."""

    name: str
    users: tuple[User, ...]
    jetstream: bool = True
    extra: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tls:
    """TLS of the client port."""

    cert: Path
    key: Path
    ca: Path | None = None
    verify: bool = False
    handshake_first: bool = False


@dataclass(frozen=True)
class Ports:
    """Where one server listens, all on 127.0.0.1."""

    client: int
    monitor: int
    cluster: int


@dataclass(frozen=True)
class NatsOptions:
    """Everything but the version, the ports and the store, which belong to the process.

    `users` and `token` are for a server without accounts; with neither, every client may connect.
    """

    server_name: str = "n1"
    jetstream: bool = True
    domain: str = ""
    max_memory: str = "256MB"
    max_file: str = "1GB"
    accounts: tuple[Account, ...] = ()
    users: tuple[User, ...] = ()
    token: str = ""
    tls: Tls | None = None
    cluster_name: str = ""
    max_payload: str = ""
    max_pending: str = ""
    extra: tuple[str, ...] = ()


def sample_accounts() -> tuple[Account, ...]:
    """Two accounts with JetStream, one without, and the system account; password = user."""
    return (
        Account("APP", (User("app", "app"),)),
        Account("OTHER", (User("other", "other"),)),
        Account("NOJS", (User("nojs", "nojs"),), jetstream=False),
        Account(SYSTEM_ACCOUNT, (User("sys", "sys"),), jetstream=False),
    )


def config_text(options: NatsOptions, ports: Ports, store: Path, routes: Iterable[int]) -> str:
    """The configuration file; `routes` are the cluster ports of the other nodes."""
    lines = [
        f"server_name: {_quoted(options.server_name)}",
        f"listen: 127.0.0.1:{ports.client}",
        f"http: 127.0.0.1:{ports.monitor}",
        *_limits(options),
        *_jetstream(options, store),
        *_tls(options.tls),
        *_authorization(options),
        *_accounts(options.accounts),
        *_cluster(options, ports, routes),
        *options.extra,
    ]
    return "\n".join(lines) + "\n"


def _limits(options: NatsOptions) -> Iterator[str]:
    if options.max_payload:
        yield f"max_payload: {options.max_payload}"
    if options.max_pending:
        yield f"max_pending: {options.max_pending}"


def _jetstream(options: NatsOptions, store: Path) -> Iterator[str]:
    if not options.jetstream:
        return
    yield "jetstream {"
    yield f"  store_dir: {_quoted(str(store))}"
    yield f"  max_memory_store: {options.max_memory}"
    yield f"  max_file_store: {options.max_file}"
    if options.domain:
        yield f"  domain: {_quoted(options.domain)}"
    yield "}"


def _tls(tls: Tls | None) -> Iterator[str]:
    if tls is None:
        return
    yield "tls {"
    yield f"  cert_file: {_quoted(str(tls.cert))}"
    yield f"  key_file: {_quoted(str(tls.key))}"
    if tls.ca is not None:
        yield f"  ca_file: {_quoted(str(tls.ca))}"
    if tls.verify:
        yield "  verify: true"
    if tls.handshake_first:
        yield "  handshake_first: true"
    yield "}"


def _authorization(options: NatsOptions) -> Iterator[str]:
    if options.token:
        yield f"authorization {{ token: {_quoted(options.token)} }}"
    elif options.users:
        yield "authorization {"
        yield from _users(options.users)
        yield "}"


def _accounts(accounts: tuple[Account, ...]) -> Iterator[str]:
    if not accounts:
        return
    yield "accounts {"
    for account in accounts:
        yield f"  {_quoted(account.name)} {{"
        if account.jetstream:
            yield "  jetstream: enabled"
        yield from account.extra
        yield from _users(account.users)
        yield "  }"
    yield "}"
    if any(account.name == SYSTEM_ACCOUNT for account in accounts):
        yield f"system_account: {SYSTEM_ACCOUNT}"


def _users(users: tuple[User, ...]) -> Iterator[str]:
    yield "  users: ["
    for user in users:
        if user.nkey:
            identity = f"nkey: {_quoted(user.nkey)}"
        else:
            identity = f"user: {_quoted(user.name)}, password: {_quoted(user.password)}"
        yield f"    {{ {identity}{_permissions(user.permissions)} }}"
    yield "  ]"


def _permissions(permissions: Permissions | None) -> str:
    if permissions is None:
        return ""
    publish = _subjects(permissions.publish_allow, permissions.publish_deny)
    subscribe = _subjects(permissions.subscribe_allow, permissions.subscribe_deny)
    parts = [
        f"publish: {publish}" if publish else "",
        f"subscribe: {subscribe}" if subscribe else "",
    ]
    if permissions.allow_responses:
        parts.append("allow_responses: true")
    return f", permissions: {{ {', '.join(filter(None, parts))} }}"


def _subjects(allow: tuple[str, ...], deny: tuple[str, ...]) -> str:
    lists = [
        f"{word}: [{', '.join(map(_quoted, subjects))}]"
        for word, subjects in (("allow", allow), ("deny", deny))
        if subjects
    ]
    return f"{{ {', '.join(lists)} }}" if lists else ""


def _cluster(options: NatsOptions, ports: Ports, routes: Iterable[int]) -> Iterator[str]:
    if not options.cluster_name:
        return
    yield "cluster {"
    yield f"  name: {_quoted(options.cluster_name)}"
    yield f"  listen: 127.0.0.1:{ports.cluster}"
    urls = ", ".join(f"nats-route://127.0.0.1:{port}" for port in routes)
    yield f"  routes: [{urls}]"
    yield "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
