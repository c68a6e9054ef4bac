"""Runner of rounds of all modes, on the same servers."""

from tests.chaos.command_rounds import CommandRounds
from tests.chaos.concurrent_rounds import ConcurrentRounds
from tests.chaos.draw import COMMANDS, Round
from tests.chaos.rounds import Outcome, Rounds
from tests.chaos.servers import Servers


class RoundRunner:
    """Runs rounds. Results of fault-free runs are cached."""

    def __init__(self, servers: Servers) -> None:
        self._rounds = Rounds(servers)
        self._concurrent_rounds = ConcurrentRounds(servers)
        self._command_rounds = CommandRounds(servers)

    def remove_by_hand(self, seed: int, times: int) -> None:
        """Remove elements between merges. Raises `rounds.InvariantViolated`."""
        self._rounds.run_removals(seed, times)

    def run_round(self, drawn: Round) -> Outcome:
        """Run one round. Raises `rounds.InvariantViolated`."""
        if drawn.mode in ("dags", "dag"):
            return self._concurrent_rounds.run_round(drawn)
        if drawn.mode in COMMANDS:
            return self._command_rounds.run_round(drawn)
        return self._rounds.run_round(drawn)

    def close(self) -> None:
        """Stop what the rounds of commands started."""
        self._command_rounds.close()
