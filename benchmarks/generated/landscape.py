"""A made-up company: applications that run every day and read what others wrote. One seed, one company.

Most plans are small, a few are very large; few datasets are read by very many applications; some
applications write a date into their plan, so that every run is a plan of its own; some runs fail.
"""

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .pipeline import DAY_MS, HOUR_MS, START, At, Dataset, How, Made, Model, Plan, Project, Run, Table

WAREHOUSE = "jdbc:redshift://warehouse.abc123xyz789.eu-west-1.redshift.amazonaws.com:5439/dev"
NAMESPACE = "redshift://warehouse.eu-west-1:5439"
SHAPES = 400
MOST_OPERATIONS, MOST_ATTRIBUTES = 200, 500
# A plan that is both long and wide has a column in the schema of each operation: some tens of MB.
_MOST_CELLS = 12_000

_WORDS = ("id", "amount", "customer", "country", "status", "created", "price", "product", "channel", "score")
COLUMNS = tuple(f"{word}_{turn}" if turn else word for turn in range(60) for word in _WORDS)
_DOMAINS = ("sales", "web", "billing", "logistics", "crm", "risk", "ads", "support", "supply", "people")


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of plan: how wide its reads are, what it makes of them, and in how many more steps."""

    reads: tuple[int, ...]
    columns: tuple[Made, ...]
    filters: tuple[At, ...]
    joins: tuple[tuple[At, At], ...]
    sorts: tuple[At, ...]
    steps: int

    def plan(self, application: str, uris: tuple[str, ...], target: str, version: int = 0) -> Plan:
        """A plan of this kind."""
        reads = tuple(Dataset(uri, COLUMNS[:width]) for uri, width in zip(uris, self.reads, strict=True))
        return Plan(
            application,
            reads,
            target,
            self.columns,
            self.filters,
            self.joins,
            self.sorts,
            self.steps,
            format="jdbc" if target.startswith("jdbc:") else "parquet",
            version=version,
        )


class Written(NamedTuple):
    """A run of a plan; `number` counts plans, `is_new` says that this is its first run."""

    shape: int
    number: int
    key: str
    is_new: bool
    run: Run


@dataclass(slots=True)
class _Write:
    """What an application writes each time it runs."""

    number: int
    shape: int
    uris: tuple[str, ...]
    target: str
    is_dated: bool
    version: int = 0


def shapes(seed: int = 8) -> tuple[Shape, ...]:
    """All kinds of plans, from 5 to 200 operations and from about 10 to 500 attributes."""
    chosen = random.Random(f"shapes/{seed}")  # nothing secret
    shares = [(place + 0.5) / SHAPES for place in range(SHAPES)]
    lengths = [min(MOST_OPERATIONS, int(5 / share**0.6)) for share in shares]
    widths = [min(MOST_ATTRIBUTES, int(6 / share**0.65)) for share in shares]
    chosen.shuffle(widths)
    return tuple(
        _shape(chosen, length, max(4, min(width, _MOST_CELLS // length)))
        for length, width in zip(lengths, widths, strict=True)
    )


def _shape(chosen: random.Random, operations: int, width: int) -> Shape:
    sides = min(1 + operations // 8, 1 + int(chosen.random() * 5))
    # About two thirds of the attributes are read, the rest is computed.
    first = max(3, int(width * 0.6))
    reads = (first, *(min(8, max(2, width // 10)) for _ in range(sides - 1)))
    known = [At(read, COLUMNS[place]) for read, count in enumerate(reads) for place in range(count)]
    made = min(len(COLUMNS), max(4, int(width * 0.5)))
    is_sum = chosen.random() < 0.3 and made > 4
    columns = tuple(
        _made(chosen, COLUMNS[place], known, is_sum and place > made // 2) for place in range(made)
    )
    filters = tuple(sorted({known[chosen.randrange(first)] for _ in range(1 + int(chosen.random() * 2))}))
    joins = tuple((At(0, COLUMNS[0]), At(read, COLUMNS[0])) for read in range(1, sides))
    sorts = (known[0],) if chosen.random() < 0.1 else ()
    # Read, filter, join, sort, project, aggregate and write are there without any.
    own = sides + 1 + (sides - 1) + len(sorts) + 1 + is_sum + 1
    return Shape(reads, columns, filters, joins, sorts, max(0, operations - own))


def _made(chosen: random.Random, name: str, known: list[At], is_sum: bool) -> Made:
    same = [each for each in known if each.column == name]
    luck = chosen.random()
    how: How = "aggregation" if is_sum else "identity"
    if not is_sum and luck > 0.6:
        how = "conditional" if luck > 0.95 else "transformation"
    if how == "identity":
        return Made(name, how, (same[0] if same and luck < 0.5 else chosen.choice(known),))
    return Made(name, how, tuple(sorted({chosen.choice(known) for _ in range(1 + int(chosen.random() * 3))})))


class Landscape:
    """Applications, their datasets and their runs."""

    def __init__(self, seed: int = 8, days: int = 14) -> None:
        self.shapes = shapes(seed)
        self.tables: list[tuple[str, int]] = []  # of the warehouse, with how many columns
        self._seed, self._days = seed, days
        self._random = random.Random(f"landscape/{seed}")  # nothing secret
        self._datasets: list[tuple[str, int]] = []
        self._writes = 0

    def runs(self, plans: int) -> Iterator[Written]:
        """All runs of so many plans, application by application."""
        keys: dict[tuple[int, int], int] = {}
        number = 0
        application = 0
        while number < plans:
            # What came before is forgotten: no later application has a plan of it.
            keys.clear()
            for shape, write, run in self._application(application):
                own = (write, run.plan.version)
                is_new = own not in keys
                if is_new:
                    if number == plans:
                        break
                    keys[own] = number
                    number += 1
                key = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._seed}/{write}/{run.plan.version}"))
                yield Written(shape, keys[own], key, is_new, run)
            application += 1

    def _application(self, number: int) -> Iterator[tuple[int, int, Run]]:
        chosen = self._random
        domain = chosen.choice(_DOMAINS)
        name = f"{domain}_job_{number}"
        writes = [self._write(domain, number) for _ in range(1 + int(chosen.random() ** 3 * 6))]
        hour = chosen.randrange(24)
        a_day = 4 if chosen.random() < 0.05 else 1
        for turn in range(self._days * a_day):
            at = START + (turn // a_day) * DAY_MS + ((hour + 6 * (turn % a_day)) % 24) * HOUR_MS
            failing = chosen.randrange(len(writes)) if chosen.random() < 0.03 else len(writes)
            for place, write in enumerate(writes[: failing + 1]):
                if write.is_dated:
                    write.version = turn // a_day + 1
                elif chosen.random() < 0.02:
                    write.version += 1
                plan = self.shapes[write.shape].plan(name, write.uris, write.target, write.version)
                failed = "java.lang.OutOfMemoryError: Java heap space" if place == failing else ""
                ended = at + (place + 1) * 90_000
                rows = chosen.randrange(1_000_000)
                yield (
                    write.shape,
                    write.number,
                    Run(plan, f"application_{number}_{turn:04}", ended, 80_000, rows, failed),
                )

    def _write(self, domain: str, application: int) -> _Write:
        chosen = self._random
        place = chosen.randrange(SHAPES)
        shape = self.shapes[place]
        uris = tuple(self._source(domain, width) for width in shape.reads)
        own = self._writes
        self._writes += 1
        if chosen.random() < 0.1:
            target = f"{WAREHOUSE}:{domain}.fact_{own}"
            self.tables.append((f"{domain}.fact_{own}", len(shape.columns)))
        else:
            target = f"s3://{domain}-lake/job_{application}/dataset_{own}"
        self._datasets.append((target, len(shape.columns)))
        return _Write(own, place, uris, target, is_dated=chosen.random() < 0.12)

    def _source(self, domain: str, width: int) -> str:
        """A dataset with so many columns: the older, the better known."""
        chosen = self._random
        for _ in range(12):
            if chosen.random() < 0.15 or not self._datasets:
                break
            uri, columns = self._datasets[int(len(self._datasets) * chosen.random() ** 4)]
            if columns >= width:
                return uri
        uri = f"s3://{domain}-raw/feed_{len(self._datasets)}"
        self._datasets.append((uri, width))
        return uri


def project(tables: list[tuple[str, int]], models: int, seed: int = 8, name: str = "warehouse") -> Project:
    """A dbt project over tables of the warehouse (`schema.name` and how many columns)."""
    chosen = random.Random(f"project/{seed}/{name}")  # nothing secret
    sources = tuple(
        Table("dev", table.partition(".")[0], table.partition(".")[2], COLUMNS[:columns])
        for table, columns in tables[: max(1, models)]
    )
    made: list[Model] = []
    widths = [len(table.columns) for table in sources]
    for number in range(models if sources else 0):
        is_first = number < len(sources) and number < models // 3
        reads = (number,) if is_first else _below(chosen, len(widths))
        known = [
            At(read, COLUMNS[p]) for read, place in enumerate(reads) for p in range(min(12, widths[place]))
        ]
        count = max(2, min(len(known), 20, 2 + int(chosen.random() ** 2 * 20)))
        is_sum = not is_first and chosen.random() < 0.4
        columns = tuple(_made(chosen, COLUMNS[place], known, is_sum and place > 0) for place in range(count))
        layer = "staging" if is_first else "mart"
        table = Table("dev", layer, f"{layer}_{number}", COLUMNS[:count])
        made.append(Model(table, reads, columns, "view" if is_first else "table"))
        widths.append(count)
    return Project(name, sources, tuple(made))


def _below(chosen: random.Random, count: int) -> tuple[int, ...]:
    wanted = 1 + int(chosen.random() ** 2 * 4)
    return tuple(sorted({int(count * chosen.random() ** 2) for _ in range(wanted)}))
