"""Basic authentication against bcrypt hashes, without a bcrypt run for every scrape."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping

import bcrypt

from streamgauge.serving.settings.secret import Secret

_LONGEST_PASSWORD = 72  # bytes; bcrypt looks at no more
_USUAL_COST = 10


class PasswordCheck:
    """Checks passwords and remembers, for each user, the one that was right.

    Only right ones are remembered, so the memory holds at most one digest per user, and
    no flood of wrong passwords can push anyone out of it.
    """

    def __init__(self) -> None:
        self.bcrypt_runs = 0
        self._salt = os.urandom(32)
        self._users: Mapping[str, Secret] = {}
        self._verified: dict[str, bytes] = {}
        self._unknown_user_hash = b""
        # Bounded, so that wrong passwords cannot take all threads from the rest of the process.
        self._turn = asyncio.Semaphore(2)

    async def allows(self, users: Mapping[str, Secret], user: str, password: str) -> bool:
        self._follow(users)
        if self._remembers(user, password):
            return True
        async with self._turn:
            # Another request with the same password may have been first.
            if self._remembers(user, password):
                return True
            known = users.get(user)
            hashed = known.reveal().encode() if known else self._unknown_user_hash
            self.bcrypt_runs += 1
            right = await asyncio.to_thread(_matches, password.encode(), hashed)
        # A reload may have replaced the users meanwhile: what was right is not remembered then.
        if known and right and users is self._users:
            self._verified[user] = self._digest(user, password)
        return right and known is not None

    def _follow(self, users: Mapping[str, Secret]) -> None:
        if users is self._users:
            return
        self._users = users
        self._verified.clear()
        # An unknown user must take as long as a known one, or names could be found by timing.
        costs = [int(hashed.reveal().split("$")[2]) for hashed in users.values()]
        salt = bcrypt.gensalt(max(costs, default=_USUAL_COST))
        self._unknown_user_hash = salt + b"." * 31

    def _remembers(self, user: str, password: str) -> bool:
        verified = self._verified.get(user, b"")
        return hmac.compare_digest(verified, self._digest(user, password))

    def _digest(self, user: str, password: str) -> bytes:
        # The salt lives and dies with the process: a memory dump gives no password to look up.
        name = hashlib.sha256(user.encode()).digest()
        return hashlib.sha256(self._salt + name + password.encode()).digest()


def credentials(header: str | None) -> tuple[str, str] | None:
    """User and password of an Authorization header; None when there are none to be read."""
    scheme, _, encoded = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    user, colon, password = text.partition(":")
    return (user, password) if colon else None


def _matches(password: bytes, hashed: bytes) -> bool:
    # bcrypt refuses longer ones at once; cutting keeps the time equal, the answer stays no.
    fits = len(password) <= _LONGEST_PASSWORD
    return bcrypt.checkpw(password[:_LONGEST_PASSWORD], hashed) and fits
