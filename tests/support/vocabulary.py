"""`make check`: words that the product, its docs and its help do not use, and what to write."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = (
    "alerts",
    "archive",
    "bench",
    "dashboards",
    "exporter",
    "spark_rollups",
    "streamgauge",
)
TEXTS: Final = (".py", ".md", ".yaml", ".yml", ".tpl", ".txt", ".service", ".css", ".js")
# The past of the project, and data that other programs wrote.
EXEMPT: Final = ("CHANGELOG.md", "docs/data/")
# A name in snake_case or CamelCase counts like a word in prose.
_START, _END = r"(?<![A-Za-z])", r"(?![a-z])"


def _word(pattern: str) -> re.Pattern[str]:
    return re.compile(_START + pattern + _END, re.IGNORECASE)


BANNED: Final = (
    (_word(r"(?:un)?told"), "reported; results"),
    (_word(r"whoever"), "the client; the reader"),
    (_word(r"nobody"), "no worker; no client"),
    (_word(r"somebody"), "a client; the on-call engineer"),
    (_word(r"in earnest"), "really"),
    (_word(r"mad?e anew"), "recreate"),
    (_word(r"rooms"), "packages; commands"),
    (_word(r"(?:a|the|this|its|each|every|one|other|another) room(?! for| to| left| in| on)"), "package; command"),
    (re.compile(r"\b[A-Z]\w*Book\b"), "State, Cache, Registry or Ledger"),
    (re.compile(r"\b(?:class|def|self\.)\s?_?questions?\b|\bquestion(?:s|_\w+)?\s*(?:=|:(?= [A-Za-z]))"), "request"),
)  # fmt: skip


def files() -> Iterator[Path]:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in tracked:
        wanted = name.startswith((*(f"{each}/" for each in PACKAGES), "docs/", "deploy/"))
        if (wanted or "/" not in name) and name.endswith(TEXTS) and not name.startswith(EXEMPT):
            yield ROOT / name


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, word, and what to write instead."""
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, instead in BANNED:
            for match in pattern.finditer(line):
                yield number, match[0], instead


def main() -> int:
    found = 0
    for path in files():
        if path.is_file():
            for number, word, instead in findings(path.read_text(encoding="utf-8")):
                found += 1
                print(f"{path.relative_to(ROOT)}:{number}: {word!r}: write {instead}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
