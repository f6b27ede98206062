"""Basic authentication with bcrypt hashes, with a cache of verified passwords."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
from collections import Counter
from collections.abc import Mapping

import bcrypt

from streamgauge.serving.settings.secret import Secret

_LONGEST_PASSWORD = 72  # bytes; bcrypt ignores the rest
_USUAL_COST = 10
# Checks that may wait: of one client address, and of all of them.
MOST_WAITING_PER_ADDRESS = 8
_MOST_WAITING = 64


class TooManyChecksError(Exception):
    """More passwords wait for their check than are accepted."""


class PasswordCheck:
    """Checks passwords and caches the verified one of each user.

    Wrong passwords are not cached, so the cache has at most one digest per user, and wrong
    passwords cannot evict an entry. A client that was verified before waits for no other's check.
    """

    def __init__(self) -> None:
        self.bcrypt_runs = 0
        self._salt = os.urandom(32)
        self._users: Mapping[str, Secret] = {}
        self._verified: dict[str, bytes] = {}
        self._unknown_user_hash = b""
        # Bounded: wrong passwords must not occupy all threads of the process.
        self._bcrypt_slots = asyncio.Semaphore(2)
        self._waiting: Counter[str] = Counter()  # by client address
        self._running: dict[bytes, asyncio.Task[bool]] = {}

    async def allows(
        self, users: Mapping[str, Secret], user: str, password: str, address: str = ""
    ) -> bool:
        """Raises TooManyChecksError; `address`: of the client."""
        self._set_users(users)
        if self._is_verified(user, password):
            return True
        digest = self._digest(user, password)
        running = self._running.get(digest)  # requests with the same password share one check
        if running is None:
            self._require_capacity(address)
            running = asyncio.create_task(self._check(users, user, password))
            self._running[digest] = running
            self._waiting[address] += 1
            running.add_done_callback(lambda _: self._end(digest, address))
        return await asyncio.shield(running)

    def _require_capacity(self, address: str) -> None:
        full = self._waiting[address] >= MOST_WAITING_PER_ADDRESS
        if full or self._waiting.total() >= _MOST_WAITING:
            raise TooManyChecksError(address)

    def _end(self, digest: bytes, address: str) -> None:
        del self._running[digest]
        self._waiting -= Counter([address])  # drops an address without checks

    async def _check(self, users: Mapping[str, Secret], user: str, password: str) -> bool:
        async with self._bcrypt_slots:
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
        # A client whose hash is unchanged stays verified: it need not wait behind guessers.
        kept = {name for name in self._verified if users.get(name) == self._users.get(name)}
        self._verified = {name: self._verified[name] for name in kept}
        self._users = users
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
