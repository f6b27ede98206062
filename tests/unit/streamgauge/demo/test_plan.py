"""The arguments of `streamgauge demo`: what cannot run is refused before anything starts."""

import pytest

from streamgauge.demo import main as demo
from streamgauge.demo.faults.registry import NEED_CLUSTER
from streamgauge.demo.plan import Plan


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans of the demos that would have started."""
    started: list[Plan] = []
    monkeypatch.setattr(demo, "_run", lambda plan: started.append(plan) or 0)
    return started


@pytest.mark.parametrize("fault", sorted(NEED_CLUSTER))
def test_a_fault_of_clusters_is_refused_on_one_server(
    fault: str, runs: list[Plan], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        demo.main(["--broken", f"poison,{fault}"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"streamgauge demo: error: --broken: {fault} needs three servers: "
        "start with `streamgauge demo --nodes 3`"
    )
    assert runs == []


def test_a_fault_of_clusters_starts_on_three_servers(runs: list[Plan]) -> None:
    assert demo.main(["--nodes", "3", "--broken", "leader,server-down"]) == 0
    assert [(plan.nodes, plan.broken) for plan in runs] == [(3, ("leader", "server-down"))]
