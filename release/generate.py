"""`python -m release.generate`: writes what follows from deploy/release.toml."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from release.install_page import install_page
from release.settings import ROOT, Release, ReleaseError, read_release
from streamgauge.serving.generated_files import write_changed

CHART: Final = Path("deploy/helm/streamgauge")
PYPROJECT: Final = Path("pyproject.toml")
MKDOCS: Final = Path("mkdocs.yml")
SIDECAR: Final = Path("deploy/kubernetes/examples/nats-chart-sidecar.yaml")
COMPOSE: Final = Path("deploy/compose/compose.yaml")
BEGIN: Final = "# generated from deploy/release.toml"
END: Final = "# end of generated"


def generated(release: Release, root: Path = ROOT) -> dict[Path, str]:
    def read(path: Path) -> str:
        return (root / path).read_text(encoding="utf-8")

    return {
        root / PYPROJECT: _block(read(PYPROJECT), _project_urls(release), PYPROJECT),
        root / MKDOCS: _block(read(MKDOCS), _site(release), MKDOCS),
        root / CHART / "Chart.yaml": _chart(read(CHART / "Chart.yaml"), release),
        root / CHART / "values.yaml": _set(
            read(CHART / "values.yaml"), r'^(  registry: )".*"', f'"{release.addresses.images}"'
        ),
        root / COMPOSE: _compose(read(COMPOSE), release),
        root / SIDECAR: _set(
            read(SIDECAR),
            r"^(        image: )\S+",
            f"{release.addresses.images or 'REGISTRY'}/streamgauge-exporter:{release.version}",
        ),
        root / "docs/install.md": install_page(release),
    }


def _project_urls(release: Release) -> list[str]:
    a = release.addresses
    links = {
        "Repository": a.repository,
        "Issues": a.repository and f"{a.repository}/issues",
        "Changelog": a.repository and f"{a.repository}/blob/main/CHANGELOG.md",
        "Documentation": a.documentation,
        "Security": a.security,
    }
    lines = [f'{name} = "{address}"' for name, address in links.items() if address]
    return ["[project.urls]", *lines] if lines else []


def _site(release: Release) -> list[str]:
    a = release.addresses
    links = {"site_url": a.documentation and f"{a.documentation}/", "repo_url": a.repository}
    return [f"{name}: {address}" for name, address in links.items() if address]


def _chart(text: str, release: Release) -> str:
    text = _set(text, "^(version: ).*", release.chart_version)
    text = _set(text, "^(appVersion: ).*", f'"{release.version}"')
    a = release.addresses
    lines = [f"home: {a.documentation or a.repository}"] if a.documentation or a.repository else []
    lines += ["sources:", f"  - {a.repository}"] if a.repository else []
    return _block(text, lines, CHART / "Chart.yaml")


def _compose(text: str, release: Release) -> str:
    def image(found: re.Match[str]) -> str:
        return f"{found[1]}{release.image(found[2].lower())}}}"

    return re.sub(r"(\$\{(EXPORTER|ARCHIVE|ROLLUPS)_IMAGE:-)[^}]*\}", image, text)


def _set(text: str, pattern: str, value: str) -> str:
    changed, count = re.subn(pattern, lambda found: found[1] + value, text, flags=re.MULTILINE)
    if count != 1:
        raise ReleaseError(f"{pattern}: found {count} times, expected once")
    return changed


def _block(text: str, lines: list[str], place: Path) -> str:
    """Replaces the lines between the two marks."""
    before, begin, rest = text.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(f"{END}\n")
    if not begin or not end:
        raise ReleaseError(f"{place}: has no lines {BEGIN!r} and {END!r}")
    return "".join((before, begin, *(f"{line}\n" for line in lines), end, after))


def main() -> int:
    try:
        write_changed(generated(read_release()))
    except ReleaseError as error:
        sys.stderr.write(f"release: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
