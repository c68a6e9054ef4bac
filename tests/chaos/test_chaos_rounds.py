"""A few rounds of fault injection, one of each kind, nightly; `python -m tests.chaos` runs more."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.chaos import draw
from tests.chaos.draw import Fault, Kind, Mode, Round, Wire
from tests.chaos.round_runner import RoundRunner
from tests.chaos.servers import PASSWORD, open_servers

SEED = 7


@pytest.fixture(scope="module")
def runner(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoundRunner]:
    """Run all rounds on the same servers, because these start slowly."""
    os.environ.update(PASSWORD)
    with open_servers(tmp_path_factory.mktemp("chaos"), spark) as servers:
        runner = RoundRunner(servers)
        yield runner
        runner.close()
    for name in PASSWORD:
        del os.environ[name]


def fault(kind: Kind, wire: Wire, moment: float) -> Fault:
    return Fault(kind, wire, moment, arrives=True, down=0.3, victim="driver")


def round_with(*faults: Fault, mode: Mode = "driver", retry_seconds: int = 0) -> Round:
    return Round(SEED, mode, "changed", retry_seconds, (faults,), merges=2, disputed=False)


@pytest.mark.jvm
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("faults", "retry_seconds"),
    [
        ((fault("worker", "graph", 0.7),), 0),
        ((fault("arango", "arango", 0.6),), 0),
        ((fault("restart", "graph", 0.6), fault("cut graph", "graph", 0.8)), 30),
    ],
    ids=["a worker is killed", "ArangoDB is killed", "the graph is cut off and restarted"],
)
def test_a_merge_with_faults_ends_in_the_graph_of_a_fault_free_run(
    runner: RoundRunner, faults: tuple[Fault, ...], retry_seconds: int
) -> None:
    outcome = runner.run_round(round_with(*faults, retry_seconds=retry_seconds))
    # The second fault only occurs if the run outlives the first.
    assert outcome.injected[faults[0].kind] == 1


@pytest.mark.jvm
@pytest.mark.nightly
def test_a_killed_and_repeated_job_ends_in_the_graph_of_a_fault_free_run(
    runner: RoundRunner,
) -> None:
    outcome = runner.run_round(round_with(fault("job", "graph", 0.75), mode="job"))
    assert (outcome.failures, outcome.injected) == (["killed by signal 9"], {"job": 1})


@pytest.mark.jvm
@pytest.mark.nightly
def test_a_killed_and_repeated_load_ends_in_the_graph_of_a_fault_free_run(runner: RoundRunner) -> None:
    outcome = runner.run_round(round_with(fault("job", "graph", 0.75), mode="load"))
    assert (outcome.failures, outcome.injected) == (["killed by signal 9"], {"job": 1})


@pytest.mark.jvm
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("mode", "wire"),
    [("embedded", "files"), ("archive", "clock"), ("decision", "files")],
)
def test_a_killed_command_leaves_the_state_before_or_after_it(
    runner: RoundRunner, mode: Mode, wire: Wire
) -> None:
    kills = tuple((Fault("job", wire, moment, False, 0, "all"),) for moment in (0.0, 0.6))
    outcome = runner.run_round(Round(SEED, mode, "changed", 0, kills, merges=2, disputed=False))
    assert "killed by signal 9" in outcome.failures


@pytest.mark.jvm
@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["dags", "dag"])
def test_concurrent_merges_end_in_the_graph_of_a_sequential_order(runner: RoundRunner, mode: Mode) -> None:
    outcome = runner.run_round(Round(SEED, mode, "first", 0, (), merges=2, disputed=mode == "dag"))
    assert outcome.runs == 2


@pytest.mark.jvm
@pytest.mark.nightly
def test_a_merge_restores_manually_removed_elements(runner: RoundRunner) -> None:
    runner.remove_by_hand(SEED, times=3)


def test_a_round_is_determined_by_its_seed() -> None:
    rounds = [draw.draw_round(seed) for seed in draw.seeds(SEED, 200)]
    assert rounds == [draw.draw_round(each.seed) for each in reversed(rounds)][::-1]
    faults = [each for drawn in rounds for faults in drawn.faults for each in faults]
    assert {each.mode for each in rounds} == set(draw.MODES)
    assert {each.change for each in rounds} == {"first", "reload", "changed"}
    kinds = {"job", "worker", "arango", "cut graph", "cut arango", "restart"}
    assert {each.kind for each in faults} == kinds
    assert {len(each.faults) for each in rounds} == {1, 2}
    assert {each.merges for each in rounds} <= set(range(2, 9))
