"""Declares the settings of a settings class: `setting(default, help)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import MappingProxyType
from typing import Any, TypeVar, cast, get_type_hints

REQUIRED: Any = MISSING
Default = TypeVar("Default")


def setting(
    default: Default,
    help: str,  # noqa: A002 - as in argparse; the generated reference prints it
    *,
    key: str | None = None,
    secret: bool = False,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Default:
    """A field of a settings class. The default `REQUIRED` makes the key mandatory.

    `key` is the name in the file, if it is not the field's name.
    """
    metadata = {
        "help": help,
        "key": key,
        "secret": secret,
        "minimum": minimum,
        "maximum": maximum,
    }
    made: Any
    if isinstance(default, Mapping):
        frozen = MappingProxyType(dict(default))
        made = field(default_factory=lambda: frozen, repr=not secret, metadata=metadata)
    else:
        made = field(default=default, repr=not secret, metadata=metadata)
    return cast("Default", made)  # typed like its value, as dataclasses.field is


@dataclass(frozen=True, slots=True)
class Declared:
    """One declared setting: the field, its annotation and the arguments of `setting`."""

    name: str
    key: str
    annotation: Any
    default: Any
    help: str
    secret: bool
    minimum: float | None
    maximum: float | None

    @property
    def required(self) -> bool:
        return self.default is MISSING


def declared_settings(cls: type[Any]) -> Iterator[Declared]:
    annotations = get_type_hints(cls, include_extras=True)
    for each in fields(cls):
        about = each.metadata
        made = each.default_factory
        yield Declared(
            name=each.name,
            key=about.get("key") or each.name,
            annotation=annotations[each.name],
            default=each.default if made is MISSING else made(),
            help=about.get("help", ""),
            secret=about.get("secret", False),
            minimum=about.get("minimum"),
            maximum=about.get("maximum"),
        )
