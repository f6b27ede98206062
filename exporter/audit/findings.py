"""Constructors of findings, one per kind of asset."""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern

from exporter.audit.check import Finding, Unknown
from exporter.model import Account, Consumer, Server, Stream


def consumer_finding(row: Consumer, evidence: str) -> Finding:
    # `nats consumer edit` works on durable consumers only.
    if row.config is not None and not row.config.durable and "ephemeral" not in evidence:
        evidence += "; ephemeral: its client sets this"
    # Thousands of consumers often have the same evidence: keep one string for all of them.
    shared = intern(evidence)
    return Finding(evidence=shared, account=row.account, stream=row.stream, consumer=row.name)


def stream_finding(row: Stream, evidence: str) -> Finding:
    return Finding(evidence=evidence, account=row.account, stream=row.name)


def account_finding(row: Account, evidence: str) -> Finding:
    return Finding(evidence=evidence, account=row.name)


def server_finding(row: Server, evidence: str) -> Finding:
    return Finding(evidence=evidence, server=row.name)


def unknown_settings(row: Server) -> Iterator[Unknown]:
    """For a server that is up and whose VARZ is missing."""
    if row.up:
        yield Unknown(server=row.name, reason="the server's settings (VARZ) are not known")
