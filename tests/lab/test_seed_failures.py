"""Each failure of the seeds, provoked live: the right alert, no other, true, and over by its remedy."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pytest
from support.lab.failure import NATS_CLI, PREFIX, Alerted, Failure, Lab, first_number
from support.lab.laboratory import laboratory
from support.lab.recorder import Recorder
from support.lab.seed_failures import ELSEWHERE, FAILURES, Exhausted, RetentionOverran, WindowShort

RAISED_SECONDS: Final = 600.0  # a worker is taken for gone after five minutes
OVER_SECONDS: Final = 420.0


async def problems_of(failure: Failure, lab: Lab, recorder: Recorder) -> list[str]:
    """Provokes it, compares its alert with the truth, and ends it."""
    name = f"{failure.number} {failure.stream}"
    await failure.provoke(lab)
    alert = await recorder.until_raised(failure, RAISED_SECONDS)
    if alert is None:
        return [f"{name}: no {failure.alert} {failure.check}"]
    found = await _wrong_texts(name, failure, alert, lab, recorder)
    if NATS_CLI is None:
        return found
    await failure.remedy(lab)
    if not await recorder.until_over(failure, OVER_SECONDS):
        found.append(f"{name}: {failure.alert} does not end after the remedy")
    return found


async def _wrong_texts(
    name: str, failure: Failure, alert: Alerted, lab: Lab, recorder: Recorder
) -> list[str]:
    found = []
    if "<error" in alert.description or "<no value>" in alert.description:
        found.append(f"{name}: {alert.description}")
    truth = await failure.true_numbers(lab)
    if truth is not None and not truth[0] <= first_number(alert.description) <= truth[1]:
        found.append(f"{name}: not between {truth}: {alert.description}")
    async with recorder.watched.session.get(alert.runbook) as page:
        if page.status != 200:
            found.append(f"{name}: {alert.runbook} responds {page.status}")
    return found


def others(failures: Iterable[Failure], recorder: Recorder) -> list[str]:
    """Alerts above info that no failure explains."""
    allowed = {
        (PREFIX + alert, failure.stream)
        for failure in failures
        for alert in (failure.alert, *failure.beside)
    }
    return [
        f"unexpected: {one.name} {one.stream} {one.consumer}: {one.description}"
        for one in recorder.above_info()
        if (one.name, one.stream) not in allowed
    ]


async def happened(folder: Path, failures: Sequence[Failure]) -> None:
    async def prepare(lab: Lab) -> None:
        for failure in failures:
            await failure.prepare(lab)

    async with laboratory(folder, prepare) as (lab, recorder):
        found = await asyncio.gather(*(problems_of(each, lab, recorder) for each in failures))
        wrong = [line for lines in found for line in lines] + others(failures, recorder)
    assert not wrong, "\n".join(wrong)
    if NATS_CLI is None:
        pytest.skip("the nats CLI is not on PATH: alerts were right, remedies were not run")


def test_every_number_is_provoked_or_has_a_reason() -> None:
    provoked = {kind.number for kind in FAILURES}
    assert provoked | set(ELSEWHERE) == set(range(1, 31))
    assert not provoked & set(ELSEWHERE)


@pytest.mark.timeout(600)
async def test_a_loss_an_exhausted_message_and_a_short_window(tmp_path: Path) -> None:
    await happened(tmp_path, [RetentionOverran(), Exhausted(), WindowShort()])


@pytest.mark.long
@pytest.mark.timeout(1500)
async def test_each_seed_failure_raises_its_alert_and_ends_by_its_remedy(tmp_path: Path) -> None:
    await happened(tmp_path, [kind() for kind in FAILURES])
