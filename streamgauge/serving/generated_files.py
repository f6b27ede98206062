"""Writes generated files, only where they changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_changed(texts: Mapping[Path, str]) -> list[Path]:
    """Returns the files that it wrote; the others keep their modification time."""
    changed = []
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed
