"""`python -m release.dry_run`: builds every artefact of a release, and publishes nothing."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from release.artefacts import ARTEFACTS, Build, ProgramMissingError
from release.images import UNKNOWN_DIGEST
from release.packing import SUMS, listing, write_checksums
from release.settings import ROOT, Release, ReleaseError, read_release
from release.version import VersionError, version


def git(*words: str) -> str:
    """Empty outside a repository, and where git finds nothing."""
    done = subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )  # fmt: skip
    return done.stdout.strip()


def check_tag(release: Release, tags: Sequence[str]) -> None:
    """The version of a tagged commit is that of its tag."""
    versions = [tag.removeprefix("v") for tag in tags if tag.startswith("v")]
    if versions and release.version not in versions:
        raise ReleaseError(
            f"deploy/release.toml: version {release.version}, but the commit is tagged "
            f"{', '.join(tags)}: run make cut VERSION={versions[0]} before you tag"
        )


def build(
    parts: Sequence[str], folder: Path, release: Release, base_digest: str = UNKNOWN_DIGEST
) -> list[str]:
    """Writes the artefacts; returns what could not be built because a program is missing."""
    _empty(folder)
    made = Build(release, git("rev-parse", "HEAD") or "unknown", folder, base_digest)
    left_out = []
    for part in parts:
        try:
            ARTEFACTS[part](made)
        except ProgramMissingError as error:
            left_out.append(f"{part}: {error}")
    write_checksums(folder)
    return left_out


def _empty(folder: Path) -> None:
    """Deletes a former build, and nothing else."""
    if folder.exists() and any(folder.iterdir()) and not (folder / SUMS).exists():
        raise ReleaseError(f"{folder}: not empty and not the result of a dry run")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def main(argv: Sequence[str] | None = None) -> int:
    """0 all built, 1 a part failed or was left out, 2 wrong arguments."""
    parser = argparse.ArgumentParser(prog="python -m release.dry_run", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "release", metavar="DIR")
    parser.add_argument("--only", choices=ARTEFACTS, action="append", metavar="PART")
    parser.add_argument("--base-digest", default=UNKNOWN_DIGEST, metavar="sha256:...")
    arguments = parser.parse_args(argv)
    try:
        cut = read_release()
        check_tag(cut, git("tag", "--points-at", "HEAD").split())
        release = replace(cut, version=version())
        left_out = build(
            arguments.only or list(ARTEFACTS), arguments.out, release, arguments.base_digest
        )
    except (ReleaseError, VersionError) as error:
        sys.stderr.write(f"release: {error}\n")
        return 1
    sys.stdout.write(listing(arguments.out))
    sys.stderr.write("".join(f"release: left out {each}\n" for each in left_out))
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
