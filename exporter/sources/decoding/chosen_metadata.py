"""Metadata of the keys that the settings name."""

from __future__ import annotations

from collections.abc import Mapping

from exporter.model import ChosenMetadata

_MAX_TEXT = 128  # any user who may create a stream writes a label value here


def chosen_metadata(metadata: Mapping[str, str], keys: tuple[str, ...]) -> ChosenMetadata:
    return tuple((key, _label(metadata[key])) for key in keys if key in metadata)


def _label(text: str) -> str | None:
    return text if 0 < len(text) <= _MAX_TEXT and text.isprintable() else None
