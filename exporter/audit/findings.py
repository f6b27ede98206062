"""Findings about an asset, named by its own row, and what keeps a check from any."""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern

from exporter.audit.check import Finding, Unknown
from exporter.model import Account, Consumer, Server, Stream


def of_consumer(row: Consumer, evidence: str) -> Finding:
    # The nats program edits durable consumers only, so its command would lead nowhere.
    if row.config is not None and not row.config.durable and "ephemeral" not in evidence:
        evidence += "; ephemeral: its client sets this"
    # Thousands of consumers often fail a check with the same numbers: one text for all of them.
    shared = intern(evidence)
    return Finding(evidence=shared, account=row.account, stream=row.stream, consumer=row.name)


def of_stream(row: Stream, evidence: str) -> Finding:
    return Finding(evidence=evidence, account=row.account, stream=row.name)


def of_account(row: Account, evidence: str) -> Finding:
    return Finding(evidence=evidence, account=row.name)


def of_server(row: Server, evidence: str) -> Finding:
    return Finding(evidence=evidence, server=row.name)


def untold_settings(row: Server) -> Iterator[Unknown]:
    """A server that lives and does not tell its settings; one that is down tells nothing at all."""
    if row.up:
        yield Unknown(server=row.name, reason="the server's settings (VARZ) are not known")
