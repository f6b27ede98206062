"""The value of the label `system` where the settings give none. Pure."""

from __future__ import annotations

import re

from exporter.model import UNNAMED, Snapshot

# What a server makes up: its key of 56 characters, or an id of 22 letters and digits.
_GENERATED = re.compile(r"N[A-Z2-7]{55}|(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9]{22}")


def system_name(snapshot: Snapshot) -> str:
    """The JetStream domain, else the name of the cluster that all servers have, else `nats`."""
    domains = {row.domain for row in snapshot.servers if row.up and row.jetstream}
    clusters = {row.cluster for row in snapshot.servers if row.up}
    for names in (domains, clusters):
        name = next(iter(names)) if len(names) == 1 else ""
        if name and name.isprintable() and not _GENERATED.fullmatch(name):
            return name
    return UNNAMED
