"""Rounds of every kind, played in one world."""

from tests.chaos.at_once import Meetings
from tests.chaos.draw import Round
from tests.chaos.rounds import Outcome, Rounds
from tests.chaos.world import World


class Player:
    """What quiet runs leave is found out when it is first needed."""

    def __init__(self, made: World) -> None:
        self._rounds = Rounds(made)
        self._meetings = Meetings(made)

    def remove_by_hand(self, seed: int, times: int) -> None:
        """Remove elements between merges. Raises `rounds.Broken`."""
        self._rounds.play_removals(seed, times)

    def play(self, drawn: Round) -> Outcome:
        """One round. Raises `rounds.Broken`."""
        kind = self._meetings if drawn.way in ("dags", "dag") else self._rounds
        return kind.play(drawn)
