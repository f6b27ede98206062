"""Archives with the same bytes for the same contents, and their checksums."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SUMS: Final = "SHA256SUMS"


def folder_contents(folder: Path, inside: str) -> dict[str, Path]:
    """Every file below the folder, by its name in an archive."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {f"{inside}/{path.relative_to(folder).as_posix()}": path for path in files}


def write_tar(target: Path, contents: Mapping[str, Path]) -> Path:
    """No times, no owners: a second build gives the same checksum."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, path in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            data = path.read_bytes()
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    target.write_bytes(gzip.compress(raw.getvalue(), mtime=0))
    return target


def write_checksums(folder: Path) -> Path:
    """In the form that `sha256sum --check` reads."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
    return folder / SUMS


def listing(folder: Path) -> str:
    """Sizes and names, as the last lines of a dry run."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return "".join(f"{path.stat().st_size:>12,}  {path.name}\n" for path in files)
