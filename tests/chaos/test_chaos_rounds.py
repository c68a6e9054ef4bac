"""A few rounds of chaos, one of each kind: `python -m tests.chaos` plays as many as are wanted."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.chaos import draw
from tests.chaos.draw import Fault, Kind, Round, Way, Wire
from tests.chaos.player import Player
from tests.chaos.world import PASSWORD, world

SEED = 7


@pytest.fixture(scope="module")
def player(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    """All rounds are in one world: it takes longer to make than they do."""
    os.environ.update(PASSWORD)
    with world(tmp_path_factory.mktemp("chaos"), spark) as made:
        yield Player(made)
    for name in PASSWORD:
        del os.environ[name]


def fault(kind: Kind, wire: Wire, moment: float) -> Fault:
    return Fault(kind, wire, moment, arrives=True, down=0.3, whom="driver")


def struck_by(*faults: Fault, way: Way = "driver", retry_seconds: int = 0) -> Round:
    return Round(SEED, way, "changed", retry_seconds, (faults,), merges=2, disputed=False)


@pytest.mark.parametrize(
    ("faults", "retry_seconds"),
    [
        ((fault("worker", "graph", 0.7),), 0),
        ((fault("arango", "arango", 0.6),), 0),
        ((fault("restart", "graph", 0.6), fault("cut graph", "graph", 0.8)), 30),
    ],
    ids=["a worker is killed", "ArangoDB is killed", "the graph is cut off and restarted"],
)
def test_a_merge_that_faults_strike_ends_in_the_graph_of_a_quiet_one(
    player: Player, faults: tuple[Fault, ...], retry_seconds: int
) -> None:
    outcome = player.play(struck_by(*faults, retry_seconds=retry_seconds))
    # The second one strikes only a run that outlives the first.
    assert outcome.struck[faults[0].kind] == 1


def test_a_job_that_is_killed_while_it_writes_and_run_again_ends_in_the_graph_of_a_quiet_one(
    player: Player,
) -> None:
    outcome = player.play(struck_by(fault("job", "graph", 0.75), way="job"))
    assert (outcome.failures, outcome.struck) == (["killed by signal 9"], {"job": 1})


@pytest.mark.parametrize("way", ["dags", "dag"])
def test_merges_at_once_leave_the_graph_of_a_quiet_order(player: Player, way: Way) -> None:
    outcome = player.play(Round(SEED, way, "first", 0, (), merges=2, disputed=way == "dag"))
    assert outcome.runs == 2


def test_a_merge_writes_again_what_a_person_removed(player: Player) -> None:
    player.remove_by_hand(SEED, times=3)


def test_a_round_is_drawn_from_its_seed_alone() -> None:
    rounds = [draw.drawn(seed) for seed in draw.seeds(SEED, 200)]
    assert rounds == [draw.drawn(each.seed) for each in reversed(rounds)][::-1]
    faults = [each for drawn in rounds for faults in drawn.faults for each in faults]
    assert {each.way for each in rounds} == set(draw.WAYS)
    assert {each.change for each in rounds} == {"first", "reload", "changed"}
    kinds = {"job", "worker", "arango", "cut graph", "cut arango", "restart"}
    assert {each.kind for each in faults} == kinds
    assert {len(each.faults) for each in rounds} == {1, 2}
    assert {each.merges for each in rounds} <= set(range(2, 9))
