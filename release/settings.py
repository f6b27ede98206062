"""deploy/release.toml: the version of the last cut, and where each part of a release is published."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from release.version import version

ROOT: Final = Path(__file__).parents[1]
SETTINGS: Final = ROOT / "deploy" / "release.toml"
VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
IMAGES: Final = ("exporter", "archive", "rollups")
_WEB: Final = r"https://[^\s/]+(/\S*)?"
_FORMS: Final = {
    "repository": _WEB,
    "documentation": _WEB,
    "package": r"[a-z0-9]+([-_.][a-z0-9]+)*",
    "images": r"[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)+",
    "charts": r"oci://[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)+",
    "security": rf"{_WEB}|mailto:[^\s@]+@[^\s@]+",
}


class ReleaseError(Exception):
    """What prevents a release; the text names what and where."""


@dataclass(frozen=True)
class Addresses:
    """Each is empty until it is set."""

    repository: str = ""
    documentation: str = ""
    package: str = ""
    images: str = ""
    charts: str = ""
    security: str = ""


@dataclass(frozen=True)
class Release:
    version: str
    addresses: Addresses

    @property
    def image_tag(self) -> str:
        """Tags of images have no plus sign; a released version has none either."""
        return self.version.replace("+", "-")

    @property
    def chart_version(self) -> str:
        """Helm needs semantic versions: 1.2.3rc1 is 1.2.3-rc1, 1.2.4.dev5 is 1.2.4-dev.5 there."""
        staged = re.sub(r"(\d)(a|b|rc)(\d+)", r"\1-\2\3", self.version)
        if ".dev" not in staged:
            return staged
        return re.sub(r"\.dev(\d+)", r".dev.\1" if "-" in staged else r"-dev.\1", staged)

    def image(self, name: str) -> str:
        repository = f"streamgauge-{name}"
        place = "/".join(filter(None, (self.addresses.images, repository)))
        return f"{place}:{self.image_tag}"


def read_release(path: Path = SETTINGS) -> Release:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{path}: {error}") from error
    return parse(found, str(path))


def parse(found: dict[str, Any], place: str) -> Release:
    _refuse_unknown(found, {"version", "addresses"}, place)
    version = found.get("version", "")
    if not isinstance(version, str) or not VERSION.fullmatch(version):
        raise ReleaseError(f"{place}: version {version!r} is not like 1.2.3 or 1.2.3rc1")
    given = found.get("addresses", {})
    _refuse_unknown(given, {each.name for each in fields(Addresses)}, f"{place}: addresses")
    for name, address in given.items():
        if not isinstance(address, str) or (address and not re.fullmatch(_FORMS[name], address)):
            raise ReleaseError(
                f"{place}: addresses.{name} {address!r} does not match {_FORMS[name]}"
            )
    return Release(version, Addresses(**{name: a.rstrip("/") for name, a in given.items()}))


def _refuse_unknown(found: dict[str, Any], known: set[str], place: str) -> None:
    unknown = sorted(found.keys() - known)
    if unknown:
        raise ReleaseError(f"{place}: unknown key {', '.join(unknown)}; known: {sorted(known)}")


def main() -> int:
    """`python -m release.settings`: name=value lines, as a workflow's outputs take them."""
    found = {"version": version(), **asdict(read_release().addresses)}
    sys.stdout.write("".join(f"{name}={text}\n" for name, text in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
