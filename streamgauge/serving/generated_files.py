"""Generated files on disk: written only where they changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_changed(texts: Mapping[Path, str]) -> list[Path]:
    """Those that were written; the rest is left alone, so that nothing looks newer than it is."""
    changed = []
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed
