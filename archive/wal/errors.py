"""The exceptions of the write-ahead log."""

from __future__ import annotations


class WalError(Exception):
    """Base class."""


class WalUnavailableError(WalError):
    """Nothing was stored, because the disk is full, read-only or broken: the sender must retry.

    The request is not the cause, so it must never be dropped for it.
    """


class WalLockedError(WalError):
    """Another process uses this folder."""


class WalFormatError(WalError):
    """An intact file of an unknown format version."""
