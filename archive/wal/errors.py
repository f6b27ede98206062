"""What the write-ahead log raises.

WalError
+ WalUnavailableError   nothing was kept: the disk is full, read-only or broken; try again later
+ WalLockedError        another process has this folder
+ WalFormatError        a file that a newer version wrote
"""

from __future__ import annotations


class WalError(Exception):
    """Anything that the write-ahead log raises."""


class WalUnavailableError(WalError):
    """Nothing of this request was kept, and the sender must repeat it.

    It does not happen by the request's own fault, so it is never a reason to drop it.
    """


class WalLockedError(WalError):
    """Two writers in one folder would overwrite each other."""


class WalFormatError(WalError):
    """Not damage: what is there is whole, but we do not know how to read it."""
