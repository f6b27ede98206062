"""The build files of the images, and the command that builds each."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from release.settings import IMAGES, ROOT, Release

CONTAINER: Final = ROOT / "deploy" / "container"
PLATFORMS: Final = "linux/amd64,linux/arm64"
BASE: Final = "docker.io/library/python:3.11-slim-bookworm"
# A release fills in that of its day.
UNKNOWN_DIGEST: Final = "sha256:DIGEST"


def build_files() -> dict[str, Path]:
    return {f"container/{path.name}": path for path in sorted(CONTAINER.iterdir())}


def build_commands(release: Release, revision: str, base_digest: str = UNKNOWN_DIGEST) -> str:
    """One line for each image: pinned base, labels, bill of materials and provenance."""
    lines = (_command(release, name, revision, base_digest) for name in IMAGES)
    return "".join(f"{line}\n" for line in lines)


def _command(release: Release, name: str, revision: str, base_digest: str) -> str:
    labels = {
        "version": release.version,
        "revision": revision,
        "source": release.addresses.repository,
        "documentation": release.addresses.documentation,
    }
    words = ["docker", "buildx", "build", "--platform", PLATFORMS]
    words += ["--file", f"deploy/container/{name}.Dockerfile"]
    words += ["--build-arg", f"PYTHON_IMAGE={BASE}@{base_digest}"]
    words += ["--build-arg", f"VERSION={release.version}"]
    for label, text in labels.items():
        if text:
            words += ["--label", f"org.opencontainers.image.{label}={text}"]
    words += ["--sbom=true", "--provenance=mode=max"]
    words += ["--tag", release.image(name)]
    # Without a registry there is nowhere to push to: the result stays in an OCI archive.
    target = f"type=oci,dest=dist/release/streamgauge-{name}.oci.tar"
    return shlex.join([*words, *(["--push"] if release.addresses.images else ["--output", target]), "."])  # fmt: skip
