"""Basic authentication with bcrypt hashes, with a cache of verified passwords."""

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

_LONGEST_PASSWORD = 72  # bytes; bcrypt ignores the rest
_USUAL_COST = 10


class PasswordCheck:
    """Checks passwords and caches the verified one of each user.

    Wrong passwords are not cached, so the cache has at most one digest per user, and wrong
    passwords cannot evict an entry.
    """

    def __init__(self) -> None:
        self.bcrypt_runs = 0
        self._salt = os.urandom(32)
        self._users: Mapping[str, Secret] = {}
        self._verified: dict[str, bytes] = {}
        self._unknown_user_hash = b""
        # Bounded: wrong passwords must not occupy all threads of the process.
        self._bcrypt_slots = asyncio.Semaphore(2)

    async def allows(self, users: Mapping[str, Secret], user: str, password: str) -> bool:
        self._set_users(users)
        if self._is_verified(user, password):
            return True
        async with self._bcrypt_slots:
            # Another request may have verified the same password meanwhile.
            if self._is_verified(user, password):
                return True
            known = users.get(user)
            hashed = known.reveal().encode() if known else self._unknown_user_hash
            self.bcrypt_runs += 1
            right = await asyncio.to_thread(_matches, password.encode(), hashed)
        # Not cached if a reload replaced the users meanwhile.
        if known and right and users is self._users:
            self._verified[user] = self._digest(user, password)
        return right and known is not None

    def _set_users(self, users: Mapping[str, Secret]) -> None:
        if users is self._users:
            return
        self._users = users
        self._verified.clear()
        # An unknown user takes as long as a known one: timing must not reveal names.
        costs = [int(hashed.reveal().split("$")[2]) for hashed in users.values()]
        salt = bcrypt.gensalt(max(costs, default=_USUAL_COST))
        self._unknown_user_hash = salt + b"." * 31

    def _is_verified(self, user: str, password: str) -> bool:
        verified = self._verified.get(user, b"")
        return hmac.compare_digest(verified, self._digest(user, password))

    def _digest(self, user: str, password: str) -> bytes:
        # The salt is per process: a memory dump cannot be used with precomputed hashes.
        name = hashlib.sha256(user.encode()).digest()
        return hashlib.sha256(self._salt + name + password.encode()).digest()


def credentials(header: str | None) -> tuple[str, str] | None:
    """User and password of an Authorization header; None if it has none."""
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
    # bcrypt rejects longer ones at once; truncation keeps the time equal, the result is false.
    fits = len(password) <= _LONGEST_PASSWORD
    return bcrypt.checkpw(password[:_LONGEST_PASSWORD], hashed) and fits
