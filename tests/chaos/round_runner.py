"""Runner of rounds of all modes, on the same servers."""

from tests.chaos.concurrent_rounds import ConcurrentRounds
from tests.chaos.draw import Round
from tests.chaos.rounds import Outcome, Rounds
from tests.chaos.servers import Servers


class RoundRunner:
    """Runs rounds. Results of fault-free runs are cached."""

    def __init__(self, servers: Servers) -> None:
        self._rounds = Rounds(servers)
        self._concurrent_rounds = ConcurrentRounds(servers)

    def remove_by_hand(self, seed: int, times: int) -> None:
        """Remove elements between merges. Raises `rounds.InvariantViolated`."""
        self._rounds.run_removals(seed, times)

    def run_round(self, drawn: Round) -> Outcome:
        """Run one round. Raises `rounds.InvariantViolated`."""
        rounds = self._concurrent_rounds if drawn.mode in ("dags", "dag") else self._rounds
        return rounds.run_round(drawn)
