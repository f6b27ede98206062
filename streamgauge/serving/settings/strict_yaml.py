"""Reads YAML strictly: no duplicate keys, YAML 1.2 types, errors in one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from streamgauge.serving.settings.errors import Place

_TAG = "tag:yaml.org,2002:"
# PyYAML quotes the text that it found, which may be a password.
_CLEARER = {
    "'\\t'": "a tab, where YAML takes only spaces",
    "undefined alias": "an alias without an anchor (put text that begins with * in quotes)",
    "second occurrence": "an anchor for the second time (put text that begins with & in quotes)",
    "the tag": "a tag that is not known (put text that begins with ! in quotes)",
    "tag handle": "a tag that is not known (put text that begins with ! in quotes)",
}


class _StrictLoader(yaml.SafeLoader):
    """Types as in YAML 1.2: `no` is text, 1:30 is not 90 and 010 is not 8."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - a class variable of PyYAML, filled below


for _kind, _pattern, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false|True|False|TRUE|FALSE", list("tfTF")),
    ("int", r"[-+]?(0|[1-9][0-9]{0,17})", list("-+0123456789")),
    (
        "float",
        r"[-+]?((0|[1-9][0-9]*)?\.[0-9]+([eE][-+]?[0-9]+)?|(0|[1-9][0-9]*)[eE][-+]?[0-9]+)",
        list("-+.0123456789"),
    ),
    ("merge", r"<<", ["<"]),
):
    _StrictLoader.add_implicit_resolver(_TAG + _kind, re.compile(f"^(?:{_pattern})$"), _first)


class Key(str):
    """A key with its line: an unknown one may be a secret, and is not shown."""

    __slots__ = ("line",)
    line: int


def _mapping(loader: _StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    made: dict[Any, Any] = loader.construct_mapping(node, deep=True)
    return {_with_line(key, lines.get(key, 0)): value for key, value in made.items()}


def _with_line(text: str, line: int) -> Key:
    key = Key(text)
    key.line = line
    return key


def _list(loader: _StrictLoader, node: yaml.SequenceNode) -> list[Any]:
    return loader.construct_sequence(node, deep=True)


# Not by generator, so that a recursive value is an error.
_StrictLoader.add_constructor(_TAG + "map", _mapping)
_StrictLoader.add_constructor(_TAG + "seq", _list)


def load_yaml(path: Path) -> dict[str, Any]:
    """The mapping in the file; an empty file is an empty mapping."""
    place = Place(str(path))
    loader = _StrictLoader(_read(path, place))
    try:
        node = loader.get_single_node()
        if node is None:
            return {}
        _check_keys(node, place, seen=set())
        content = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise place.error(_syntax_reason(error)) from error
    except (yaml.YAMLError, ValueError) as error:
        raise place.error(f"is not YAML: {error}") from error
    except RecursionError as error:
        raise place.error("is nested too deeply") from error
    finally:
        loader.dispose()
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise place.is_not(content, "a mapping (write it as key: value)")
    return content


def _read(path: Path, place: Place) -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise place.error(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise place.error(f"is not UTF-8 text (byte {error.start + 1})") from error
    # PyYAML would raise in the constructor of the loader.
    control = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        raise place.error(f"line {line}: control character U+{ord(control[0]):04X}")
    return text


def _check_keys(node: yaml.Node, place: Place, seen: set[int]) -> None:
    if id(node) in seen:  # an alias: checked at its anchor
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _check_keys(item, place.item(index), seen)
    elif isinstance(node, yaml.MappingNode):
        first_line: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            name = _key_name(key, place, line)
            if name in first_line:
                reason = f"is given twice (line {first_line[name]} and line {line})"
                raise place.child(name).error(reason)
            first_line[name] = line
            _check_keys(value, place.child(name), seen)


def _key_name(key: yaml.Node, place: Place, line: int) -> str:
    if isinstance(key, yaml.ScalarNode) and key.tag in {_TAG + "str", _TAG + "merge"}:
        return str(key.value)
    what = key.value if isinstance(key, yaml.ScalarNode) and key.value else "here"
    raise place.error(f"line {line}: the key {what} is not text (put it in quotes)")


def _syntax_reason(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "is not YAML"
    if problem.startswith("but ") and error.context:
        problem = f"{error.context} {problem}"
    for words, better in _CLEARER.items():
        if words in problem:
            problem = better
    mark = error.problem_mark or error.context_mark
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" if mark else problem
