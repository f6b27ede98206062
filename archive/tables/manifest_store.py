"""Reads and writes manifests in storage; the highest number is the current one."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

import msgspec

from archive.tables.manifest import Manifest
from archive.tables.schema import FORMAT_VERSION, MANIFEST, manifest_path, manifest_publication
from archive.tables.storage import Storage, Stored

# Earlier manifests, kept as a history of replaced files.
KEPT_MANIFESTS: Final = 20
LOG_DIGITS: Final = 8


class ManifestError(Exception):
    """The manifest cannot be read or must not be replaced; one line with the path."""


class _Sealed(msgspec.Struct, frozen=True):
    """The file: the manifest as raw JSON and its checksum."""

    sha256: str
    manifest: msgspec.Raw


class _Version(msgspec.Struct, frozen=True):
    format: int


def read_manifest(storage: Storage) -> Manifest:
    """The newest manifest; an empty one before the first publication."""
    newest = _newest(storage)
    return Manifest() if newest is None else _read(storage, manifest_path(newest))


def write_manifest(storage: Storage, manifest: Manifest) -> None:
    """Publishes: from here on readers see the new files."""
    newest = _newest(storage) or 0
    if newest != manifest.publication - 1:
        raise ManifestError(
            f"{storage}: another process publishes here "
            f"(its publication {newest} came before our {manifest.publication})"
        )
    storage.write(manifest_path(manifest.publication), encoded(manifest))


def new_stamp(manifest: Manifest) -> str:
    """A unique part of the file names of the next publication.

    It contains the id of the log. If two archives publish to one store by accident, their files
    have different names, and neither deletes unfinished files of the other.
    """
    log = (manifest.log or "0" * LOG_DIGITS)[:LOG_DIGITS]
    return f"{manifest.publication + 1:010d}-{log}{secrets.token_hex(2)}"


def drop_old_manifests(storage: Storage, newest: int) -> None:
    for stored in storage.list(MANIFEST):
        number = manifest_publication(stored.path)
        if number is not None and number <= newest - KEPT_MANIFESTS:
            storage.delete(stored.path)


def encoded(manifest: Manifest) -> bytes:
    inner = msgspec.json.encode(manifest)
    checksum = hashlib.sha256(inner).hexdigest()
    return msgspec.json.encode(_Sealed(checksum, msgspec.Raw(inner))) + b"\n"


def decoded(data: bytes, where: str) -> Manifest:
    try:
        sealed = msgspec.json.decode(data, type=_Sealed)
        _check_version(sealed.manifest, where)
        manifest = msgspec.json.decode(sealed.manifest, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{where}: {error}") from error
    if hashlib.sha256(sealed.manifest).hexdigest() != sealed.sha256:
        raise ManifestError(f"{where}: the checksum does not match, the file was changed")
    return manifest


def _check_version(inner: msgspec.Raw, where: str) -> None:
    version = msgspec.json.decode(inner, type=_Version).format
    if version > FORMAT_VERSION:
        raise ManifestError(
            f"{where}: format {version} is newer than this program, which reads {FORMAT_VERSION}"
        )


def _read(storage: Storage, path: str) -> Manifest:
    return decoded(storage.read(path), f"{storage}/{path}")


def _newest(storage: Storage) -> int | None:
    return max(
        (number for each in storage.list(MANIFEST) if (number := _number(each))), default=None
    )


def _number(stored: Stored) -> int | None:
    return manifest_publication(stored.path)
