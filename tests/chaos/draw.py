"""What happens in a round, drawn from its seed alone. No I/O.

How long a run takes differs from machine to machine, so a moment is a part of what a quiet run does:
of its requests to one of the servers, or of its time.
"""

import random
from dataclasses import dataclass, replace
from typing import Literal, get_args

Way = Literal["driver", "job", "dags", "dag"]
Change = Literal["first", "reload", "changed"]
Kind = Literal["job", "worker", "arango", "cut graph", "cut arango", "restart"]
Wire = Literal["graph", "arango", "clock"]
Whom = Literal["driver", "jvm", "all"]

WAYS: tuple[Way, ...] = get_args(Way)
# A job needs two JVMs more, so there are fewer of those rounds.
_WEIGHTS = {"driver": 60, "job": 15, "dags": 15, "dag": 10}
_MOST_FAULTS = 2
# Few tell most, and are quick.
_MERGES = (2, 2, 3, 4, 6, 8)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: at `moment` (0 to 1) of what a quiet run asks on a `wire`.

    `arrives`: the request at which it happens reaches its server. `down`: seconds until what was
    killed or cut is there again. `whom`: which processes of a job are killed.
    """

    kind: Kind
    wire: Wire
    moment: float
    arrives: bool
    down: float
    whom: Whom

    def __str__(self) -> str:
        kind = f"kill {self.whom} of job" if self.kind == "job" else self.kind
        return f"{kind} at {self.moment:.2f} of {self.wire}"


@dataclass(frozen=True, slots=True)
class Round:
    """A round.

    `way`: in this process's Spark, as a job of its own, or several merges at once (of several `dags`, or
    of one `dag`). `faults` strike the first run, the second, and so on. `merges` load at once, `disputed`:
    and do not agree.
    """

    seed: int
    way: Way
    change: Change
    retry_seconds: int
    faults: tuple[tuple[Fault, ...], ...]
    merges: int
    disputed: bool

    def __str__(self) -> str:
        if self.way in ("dags", "dag"):
            of = "several DAGs" if self.way == "dags" else "one DAG"
            return f"{self.merges} merges at once of {of}, which {'dis' if self.disputed else ''}agree"
        runs = " / ".join(", ".join(map(str, faults)) for faults in self.faults)
        where = "a job" if self.way == "job" else "in the driver"
        return f"{self.change}, {where}, retry {self.retry_seconds} s: {runs}"


def seeds(seed: int, rounds: int) -> list[int]:
    """The seeds of so many rounds."""
    chance = random.Random(seed)
    return [chance.getrandbits(32) for _ in range(rounds)]


def drawn(seed: int, way: Way | None = None) -> Round:
    """The round of a seed; `way` overrules what the seed says of that."""
    chance = random.Random(seed)
    by_chance = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    chosen: Way = way or by_chance  # type: ignore[assignment] # keys of a dict are texts
    change: Change = chance.choices(get_args(Change), (2, 1, 4))[0]
    retry_seconds = chance.choice((0, 30))
    merges = chance.choice(_MERGES)
    disputed = chance.random() < 0.5
    runs = []
    for number in range(chance.choice((1, 1, 2))):
        faults = [_fault(chance, chosen) for _ in range(chance.randint(1, _MOST_FAULTS))]
        if chosen == "job" and number == 0:
            faults[0] = replace(faults[0], kind="job")
        runs.append(tuple(faults))
    return Round(seed, chosen, change, retry_seconds, tuple(runs), merges, disputed)


def _fault(chance: random.Random, way: Way) -> Fault:
    kinds = [kind for kind in get_args(Kind) if kind != "job" or way == "job"]
    kind: Kind = chance.choice(kinds)
    wire: Wire = chance.choices(get_args(Wire), (6, 3, 1))[0]
    if kind in ("arango", "cut arango") and wire == "graph":
        wire = "arango"  # when the graph is asked, all has been read
    whom: Whom = chance.choice(get_args(Whom))
    return Fault(kind, wire, chance.random(), chance.random() < 0.5, chance.uniform(0, 1.5), whom)
