"""Random rounds, determined by their seeds. Pure.

The duration of a run differs between machines, so a moment is a fraction of a fault-free run: of its requests
to one of the servers, or of its duration.
"""

import random
from dataclasses import dataclass, replace
from typing import Literal, get_args

Mode = Literal["driver", "job", "load", "embedded", "archive", "decision", "dags", "dag"]
Change = Literal["first", "reload", "changed"]
Kind = Literal["job", "worker", "arango", "cut graph", "cut arango", "restart"]
Wire = Literal["graph", "arango", "clock", "files"]
Victim = Literal["driver", "jvm", "all"]

MODES: tuple[Mode, ...] = get_args(Mode)
# Jobs start two more JVMs, so these rounds are fewer.
_WEIGHTS = {
    "driver": 40,
    "job": 10,
    "load": 10,
    "embedded": 6,
    "archive": 4,
    "decision": 4,
    "dags": 12,
    "dag": 8,
}
# Commands that write files: a run is killed once, at a moment of its duration, or soon after its first write.
COMMANDS: tuple[Mode, ...] = ("embedded", "archive", "decision")
_MAX_FAULTS = 2
# Few concurrent merges find most errors, quickly.
_MERGES = (2, 2, 3, 4, 6, 8)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: at `moment` (0 to 1) of a fault-free run's requests on a `wire`, or of its duration.

    For the wire `files`: of a short time after its first change of a file.

    `arrives`: the request at that moment reaches its server. `down`: seconds until a killed server or cut
    connection is available again. `victim`: the killed processes of a job.
    """

    kind: Kind
    wire: Wire
    moment: float
    arrives: bool
    down: float
    victim: Victim

    def __str__(self) -> str:
        kind = f"kill {self.victim} of job" if self.kind == "job" else self.kind
        return f"{kind} at {self.moment:.2f} of {self.wire}"


@dataclass(frozen=True, slots=True)
class Round:
    """A round.

    `mode`: in this process's Spark, as a separate job, or concurrent merges (of several `dags`, or of one
    `dag`). `faults`: those of the first run, of the second, and so on. `merges`: number of concurrent merges.
    `disputed`: they conflict.
    """

    seed: int
    mode: Mode
    change: Change
    retry_seconds: int
    faults: tuple[tuple[Fault, ...], ...]
    merges: int
    disputed: bool

    def __str__(self) -> str:
        if self.mode in ("dags", "dag"):
            of = "several DAGs" if self.mode == "dags" else "one DAG"
            return f"{self.merges} concurrent merges of {of}, which {'dis' if self.disputed else ''}agree"
        runs = " / ".join(", ".join(map(str, faults)) for faults in self.faults)
        if self.mode in COMMANDS:
            return f"command ({self.mode}): {runs}"
        where = "in the driver" if self.mode == "driver" else f"a process ({self.mode})"
        return f"{self.change}, {where}, retry {self.retry_seconds} s: {runs}"


def seeds(seed: int, rounds: int) -> list[int]:
    """Return the seeds of so many rounds."""
    chance = random.Random(seed)
    return [chance.getrandbits(32) for _ in range(rounds)]


def draw_round(seed: int, mode: Mode | None = None) -> Round:
    """Return the round of a seed; `mode` overrides the random mode."""
    chance = random.Random(seed)
    random_mode = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    selected: Mode = mode or random_mode  # type: ignore[assignment] # dict keys are typed as str
    change: Change = chance.choices(get_args(Change), (2, 1, 4))[0]
    retry_seconds = chance.choice((0, 30))
    merges = chance.choice(_MERGES)
    disputed = chance.random() < 0.5
    runs: list[tuple[Fault, ...]] = []
    for number in range(chance.choice((1, 1, 2))):
        if selected in COMMANDS:
            runs.append((_kill(chance, selected),))
            continue
        faults = [_fault(chance, selected) for _ in range(chance.randint(1, _MAX_FAULTS))]
        if selected in ("job", "load") and number == 0:
            faults[0] = replace(faults[0], kind="job")
        runs.append(tuple(faults))
    return Round(seed, selected, change, retry_seconds, tuple(runs), merges, disputed)


def _fault(chance: random.Random, mode: Mode) -> Fault:
    kinds = [kind for kind in get_args(Kind) if kind != "job" or mode in ("job", "load")]
    if mode == "load":
        kinds = [kind for kind in kinds if "arango" not in kind]
    kind: Kind = chance.choice(kinds)
    wires: tuple[Wire, ...] = ("graph", "arango", "clock")
    wire: Wire = chance.choices(wires, (6, 0 if mode == "load" else 3, 1))[0]
    if kind in ("arango", "cut arango") and wire == "graph":
        wire = "arango"  # all documents are read before the first graph request
    victim: Victim = chance.choice(get_args(Victim))
    return Fault(kind, wire, chance.random(), chance.random() < 0.5, chance.uniform(0, 1.5), victim)


def _kill(chance: random.Random, mode: Mode) -> Fault:
    # An archive is in S3.
    wires: tuple[Wire, ...] = ("clock",) if mode == "archive" else ("clock", "files")
    victim: Victim = chance.choice(get_args(Victim))
    return Fault("job", chance.choice(wires), chance.random(), False, 0, victim)
