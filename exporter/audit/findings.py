"""Constructors of findings, one per kind of asset."""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern

from exporter.audit.check import Finding, Unknown
from exporter.audit.severity import Severity
from exporter.model import Account, Consumer, Server, Stream


def consumer_finding(row: Consumer, evidence: str, severity: Severity | None = None) -> Finding:
    # Thousands of consumers often have the same evidence: keep one string for all of them.
    return Finding(
        evidence=intern(evidence),
        severity=severity,
        account=row.account,
        stream=row.stream,
        consumer=row.name,
    )


def stream_finding(row: Stream, evidence: str, severity: Severity | None = None) -> Finding:
    return Finding(evidence=evidence, severity=severity, account=row.account, stream=row.name)


def account_finding(row: Account, evidence: str) -> Finding:
    return Finding(evidence=evidence, account=row.name)


def server_finding(row: Server, evidence: str, severity: Severity | None = None) -> Finding:
    return Finding(evidence=evidence, severity=severity, server=row.name)


def unknown_settings(row: Server) -> Iterator[Unknown]:
    """For a server that is up and whose VARZ is missing."""
    if row.up:
        yield Unknown(server=row.name, reason="the server's settings (VARZ) are not known")
