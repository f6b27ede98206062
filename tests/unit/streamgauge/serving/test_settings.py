"""Settings from a file and the environment: values, precedence, and the reference."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.example_settings import Example, Logs, Source, System, load, write

from streamgauge.serving.settings.loader import (
    Secret,
    SettingsError,
    build,
    environment_overrides,
    load_yaml,
    merge,
    setting,
)
from streamgauge.serving.settings.reference import render_reference

COMPLETE = """
listen: 127.0.0.1:1
systems:
  - name: "no"
    source: system
    interval: 1m30s
    urls: [nats://a, nats://b]
    password: hunter2
logs: {level: debug}
most: 7
share: 1
loud: true
folder: some/where
streams: "^ORDERS"
buffer: 64KiB
X-Headers: {a: b}
"""


def test_every_kind_of_value_is_converted_to_its_annotation(tmp_path: Path) -> None:
    settings = load(tmp_path, COMPLETE)

    assert settings == Example(
        listen="127.0.0.1:1",
        systems=(
            System(
                name="no",
                source=Source.SYSTEM,
                interval=90.0,
                urls=("nats://a", "nats://b"),
                password=Secret("hunter2"),
            ),
        ),
        logs=Logs(level="debug"),
        most=7,
        share=1.0,
        loud=True,
        folder=Path("some/where"),
        streams=re.compile("^ORDERS"),
        buffer=65536,
        headers={"a": "b"},
    )


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n"])
def test_an_empty_file_gives_the_defaults(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text) == Example()


def test_words_keep_their_meaning_as_text(tmp_path: Path) -> None:
    path = write(tmp_path, "a: no\nb: on\nc: 1:30\nd: 010\ne: 2026-11-16\nf: .inf\ng: 1_000\n")

    assert load_yaml(path) == {
        "a": "no",
        "b": "on",
        "c": "1:30",
        "d": "010",
        "e": "2026-11-16",
        "f": ".inf",
        "g": "1_000",
    }


def test_numbers_truths_and_nothing_are_recognised(tmp_path: Path) -> None:
    path = write(tmp_path, "a: -3\nb: 2.5\nc: 1e3\nd: TRUE\ne: ~\nf:\ng: +.5\n")

    found = load_yaml(path)

    assert found == {"a": -3, "b": 2.5, "c": 1000.0, "d": True, "e": None, "f": None, "g": 0.5}


def test_a_merge_key_may_be_overridden(tmp_path: Path) -> None:
    text = "systems:\n  - &base {name: a, interval: 20s}\n  - {<<: *base, name: b}\n"

    first, second = load(tmp_path, text).systems

    assert (first.name, first.interval) == ("a", 20.0)
    assert (second.name, second.interval) == ("b", 20.0)


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    assert load(tmp_path, b"\xef\xbb\xbfmost: 3\n").most == 3


def test_the_later_mapping_wins_key_by_key() -> None:
    file = {"a": 1, "logs": {"level": "info", "format": "text"}, "list": [1, 2]}
    flags = {"logs": {"level": "debug"}, "list": [3]}

    merged = merge(file, flags)

    assert merged == {"a": 1, "logs": {"level": "debug", "format": "text"}, "list": [3]}
    assert file["logs"] == {"level": "info", "format": "text"}


def test_variables_override_settings_of_the_top_and_one_level_below() -> None:
    environ = {
        "STREAMGAUGE_LISTEN": "127.0.0.1:9",
        "STREAMGAUGE_MOST": "3",
        "STREAMGAUGE_SHARE": "0.25",
        "STREAMGAUGE_LOUD": "true",
        "STREAMGAUGE_FOLDER": "x",
        "STREAMGAUGE_BUFFER": "1MiB",
        "STREAMGAUGE_LOGS__LEVEL": "debug",
        "STREAMGAUGE_CONFIG": "read elsewhere",
        "PATH": "/bin",
    }

    overrides = environment_overrides(Example, environ, other={"STREAMGAUGE_CONFIG"})

    assert build(Example, overrides, "x") == Example(
        listen="127.0.0.1:9",
        most=3,
        share=0.25,
        loud=True,
        folder=Path("x"),
        buffer=1 << 20,
        logs=Logs(level="debug"),
    )


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("LISTN", "x", "unknown variable (did you mean STREAMGAUGE_LISTEN?)"),
        ("MOST", "many", '"many" is not a whole number'),
        ("LOUD", "1", '"1" is not true or false'),
        ("BUFFER", "9", '"9" is not a size (write it like 64MiB or 512KiB)'),
        ("LOGS__LEVEL", "x", '"x" is not one of debug, info'),
        ("LISTEN", "", "is empty (unset it to get the default)"),
        ("SYSTEMS", "a,b", "holds more than one value: write it in the file"),
        ("X_HEADERS", "a", "holds more than one value: write it in the file"),
    ],
)
def test_a_wrong_variable_is_named(name: str, text: str, reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        environment_overrides(Example, {f"STREAMGAUGE_{name}": text})

    assert str(caught.value) == f"environment: STREAMGAUGE_{name}: {reason}"


def test_the_variables_of_a_kubernetes_service_are_ignored() -> None:
    links = {
        "STREAMGAUGE_SERVICE_HOST": "10.0.0.1",
        "STREAMGAUGE_SERVICE_PORT": "7778",
        "STREAMGAUGE_SERVICE_PORT_HTTP_METRICS": "7778",
        "STREAMGAUGE_PORT": "tcp://10.0.0.1:7778",
        "STREAMGAUGE_PORT_7778_TCP": "tcp://10.0.0.1:7778",
        "STREAMGAUGE_PORT_7778_TCP_ADDR": "10.0.0.1",
        "STREAMGAUGE_EXPORTER_SERVICE_HOST": "10.0.0.1",
        "STREAMGAUGE_EXPORTER_PORT": "tcp://10.0.0.1:7778",
    }

    assert environment_overrides(Example, links) == {}


def test_the_reference_lists_every_key_with_type_default_and_meaning() -> None:
    assert render_reference(Example) == (
        "| key | type | default | meaning |\n"
        "|---|---|---|---|\n"
        "| `listen` | text | `0.0.0.0:7778` | Address. |\n"
        "| `systems` | list of section | `[]` | What to watch. |\n"
        "| `logs` | section |  | Logs. |\n"
        "| `most` | whole number | `10` | A ceiling. |\n"
        "| `share` | number | `0.5` | A share. |\n"
        "| `loud` | true or false | `false` | A switch. |\n"
        "| `folder` | path |  | A folder. |\n"
        "| `streams` | regular expression | `.*` | Which streams. |\n"
        "| `buffer` | size | `64MiB` | A buffer. |\n"
        "| `X-Headers` | mapping of text | `{}` | Headers. |\n"
        "\n### `systems[]`\n\n"
        "| key | type | default | meaning |\n"
        "|---|---|---|---|\n"
        "| `systems[].name` | text | required | Name of the system. |\n"
        "| `systems[].source` | `account` or `system` | `account` | Where requests go. |\n"
        "| `systems[].interval` | duration | `15s` | Time between polls. |\n"
        "| `systems[].urls` | list of text | `[]` | Where the servers are. |\n"
        "| `systems[].password` | secret text |  | Password. |\n"
        "| `systems[].pin` | text | (not shown) | A secret that is plain text. |\n"
        "\n### `logs`\n\n"
        "| key | type | default | meaning |\n"
        "|---|---|---|---|\n"
        "| `logs.level` | `debug` or `info` | `info` | How much \\| to say. |"
    )


def test_an_unsupported_annotation_is_a_programming_error() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Wrong:
        when: complex = setting(1j, "A complex number.")

    Wrong.__annotations__["when"] = complex
    with pytest.raises(TypeError, match="cannot be annotated"):
        build(Wrong, {"when": 1}, "x")
