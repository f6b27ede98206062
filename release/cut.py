"""`python -m release.cut VERSION`: dates the changelog and writes the version everywhere."""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from release import generate
from release.settings import ROOT, SETTINGS, VERSION, ReleaseError, read_release

CHANGELOG: Final = ROOT / "CHANGELOG.md"
_HEADING: Final = "## Unreleased\n"


def cut_changelog(text: str, version: str, today: datetime.date) -> str:
    """What was unreleased is of this version now; an empty section for the next one stays."""
    before, heading, rest = text.partition(_HEADING)
    if not heading:
        raise ReleaseError("CHANGELOG.md: has no section '## Unreleased'")
    if f"\n## {version} " in text:
        raise ReleaseError(f"CHANGELOG.md: has a section {version} already")
    if not rest.partition("\n## ")[0].strip():
        raise ReleaseError("CHANGELOG.md: nothing is unreleased")
    return f"{before}{heading}\n## {version} - {today.isoformat()}\n{rest}"


def cut_settings(text: str, version: str) -> str:
    return re.sub(r'^version = ".*"$', f'version = "{version}"', text, flags=re.MULTILINE)


def order(version: str) -> tuple[int, ...]:
    """1.2.3rc1 comes before 1.2.3."""
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:(a|b|rc)(\d+))?", version)
    if not found:
        raise ReleaseError(f"version {version!r} is not like 1.2.3 or 1.2.3rc1")
    stage = {"a": 0, "b": 1, "rc": 2, None: 3}[found[4]]
    return int(found[1]), int(found[2]), int(found[3]), stage, int(found[5] or 0)


def cut(version: str, today: datetime.date) -> None:
    if not VERSION.fullmatch(version) or order(version) <= order(read_release().version):
        raise ReleaseError(f"{version!r} is not a version above {read_release().version}")
    _rewrite(CHANGELOG, cut_changelog(CHANGELOG.read_text(encoding="utf-8"), version, today))
    _rewrite(SETTINGS, cut_settings(SETTINGS.read_text(encoding="utf-8"), version))
    generate.main()


def _rewrite(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m release.cut", description=__doc__)
    parser.add_argument("version")
    version = parser.parse_args(argv).version
    try:
        cut(version, datetime.datetime.now(datetime.UTC).date())
    except ReleaseError as error:
        sys.stderr.write(f"release: {error}\n")
        return 2
    sys.stdout.write(
        f"Cut {version}. Next: make generate, review, commit, then\n"
        f"  git tag --annotate v{version} --message 'Streamgauge {version}'\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
