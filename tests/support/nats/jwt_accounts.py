"""Operator mode for tests: an operator, its accounts and their users, as signed JWTs."""

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import nkeys  # type: ignore[import-untyped]

UNLIMITED: Final = -1
_HEADER: Final = {"typ": "JWT", "alg": "ed25519-nkey"}
_NO_LIMITS: Final = {
    "subs": UNLIMITED, "data": UNLIMITED, "payload": UNLIMITED, "imports": UNLIMITED,
    "exports": UNLIMITED, "wildcards": True, "conn": UNLIMITED, "leaf": UNLIMITED,
}  # fmt: skip
_JETSTREAM: Final = {
    "mem_storage": UNLIMITED, "disk_storage": UNLIMITED, "streams": UNLIMITED,
    "consumer": UNLIMITED,
}  # fmt: skip


class Key:
    """An nkey pair; the prefix says what it stands for."""

    def __init__(self, prefix: int) -> None:
        self.seed = bytes(nkeys.encode_seed(secrets.token_bytes(32), prefix))
        self._pair = nkeys.from_seed(bytearray(self.seed))
        self.public: str = self._pair.public_key.decode()

    def signed(
        self, subject: str, name: str, claims: dict[str, Any], expires: float | None = None
    ) -> str:
        """A JWT about `subject`, issued by this key."""
        body: dict[str, Any] = {
            "iat": int(time.time()),
            "iss": self.public,
            "sub": subject,
            "name": name,
            "nats": {"version": 2, **claims},
            **({} if expires is None else {"exp": int(expires)}),
        }
        body["jti"] = hashlib.sha256(json.dumps(body).encode()).hexdigest()
        text = f"{_encoded(_HEADER)}.{_encoded(body)}"
        return f"{text}.{_base64(self._pair.sign(text.encode()))}"


@dataclass(frozen=True)
class JwtAccount:
    name: str
    jetstream: bool = True
    key: Key = field(default_factory=lambda: Key(nkeys.PREFIX_BYTE_ACCOUNT))

    def claims(self) -> dict[str, Any]:
        limits = _NO_LIMITS | (_JETSTREAM if self.jetstream else {})
        return {"type": "account", "limits": limits}

    def write_creds(self, file: Path, expires: float | None = None) -> Path:
        """A new user of this account, in a file as the nats tools write them."""
        user = Key(nkeys.PREFIX_BYTE_USER)
        claims = {"type": "user", "subs": UNLIMITED, "data": UNLIMITED, "payload": UNLIMITED}
        token = self.key.signed(user.public, "reader", claims, expires)
        file.write_text(
            f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
            "************************* IMPORTANT *************************\n"
            "-----BEGIN USER NKEY SEED-----\n"
            f"{user.seed.decode()}\n------END USER NKEY SEED------\n"
        )
        return file


def operator_lines(system: JwtAccount, *others: JwtAccount) -> tuple[str, ...]:
    """Configuration lines of a server that trusts a new operator with these accounts."""
    operator = Key(nkeys.PREFIX_BYTE_OPERATOR)
    claims = {"type": "operator", "system_account": system.key.public}
    preloaded = [
        f"  {each.key.public}: {operator.signed(each.key.public, each.name, each.claims())}"
        for each in (system, *others)
    ]
    return (
        f"operator: {operator.signed(operator.public, 'operator', claims)}",
        f"system_account: {system.key.public}",
        "resolver: MEMORY",
        "resolver_preload: {",
        *preloaded,
        "}",
    )


def _encoded(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
