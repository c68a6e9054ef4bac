"""Requests and bytes of loads of sizes that no test server holds, scaled from a sample.

    python benchmarks/capacity.py --elements 1000000 10000000 100000000

Nothing is sent: the sample, a company of `made_company`, goes through the functions that make requests of
rows (upserts, batches, serializer), CSV files of rows (bulk loader) and texts of digests. What each element
costs is then multiplied. Only bytes of digests count as read: the size of shards follows from
`shard_digests.shard_count`, and each change falls into any of them with equal probability, as if no two had
to do with each other.

The time is a model: requests, times the milliseconds that the server takes for one of them, divided by how
many it executes at a time. `--write-ms` is that of the Gremlin Server of the tests (`rerun`); for Neptune it
is an input, like the rate of its bulk loader, and so are prices, which are not computed: see
https://aws.amazon.com/neptune/pricing/ for instance hours, storage and I/O.
"""

import argparse
import gzip
import math
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import uuid4

from gremlin_python.driver.request import RequestMessage
from gremlin_python.process.traversal import Bytecode

from benchmarks import made_company, options, results
from benchmarks.results import Figure
from lineage_merge.graph_format import neptune_csv
from lineage_merge.graph_format.schema import EDGE_KEYS, NODE_KEYS, Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.element_rows import row_to_write
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.executor import IDS_PER_REQUEST
from lineage_merge.load.gremlin.serializer import serializer
from lineage_merge.load.shard_digests import DIGEST_BYTES, entries_of, shard_count, shards
from lineage_merge.load.shard_state import RunState, encode_digests, encode_keys

CREATED_AT = 1_750_000_000_000
# Requests of a load that changes nothing (`rerun`).
FIXED_REQUESTS = 10
# Texts of new shards per request, and of shards with new digests only, by its number of records.
NEW_PER_REQUEST = 50
CHANGED_PER_REQUEST = 100
_MIB = 2**20


@dataclass(frozen=True)
class Cost:
    """Requests and bytes of one element, or of one shard, or of a load."""

    requests: float
    sent: float

    def times(self, number: float) -> "Cost":
        """Return the cost of so many."""
        return Cost(self.requests * number, self.sent * number)

    def plus(self, other: "Cost") -> "Cost":
        """Return the sum."""
        return Cost(self.requests + other.requests, self.sent + other.sent)


@dataclass(frozen=True)
class Sample:
    """The cost of an element: to write it, by request or as CSV, to change a property, to have digests."""

    write: Cost
    change: Cost
    csv_bytes: float
    digest_bytes: float
    keys_bytes: float


@dataclass(frozen=True)
class Load:
    """The cost of one load; `read`: bytes of digests that it reads."""

    size: int
    name: str
    cost: Cost
    read: float = 0.0


def size_of(request: Bytecode) -> int:
    """Return the bytes of a request as it is sent."""
    message = RequestMessage("traversal", "bytecode", {"gremlin": request, "aliases": {"g": "g"}})
    return len(serializer().serialize_message(str(uuid4()), message))


def cost_of(to_write: Iterable[upserts.Upsert], elements: int) -> Cost:
    """Return the cost of an element of so many."""
    sizes = [size_of(upserts.bytecode(batch)) for batch in upserts.batches(to_write)]
    return Cost(len(sizes) / elements, sum(sizes) / elements)


def vertices(rows: Iterable[Row], names: tuple[str, ...] | None = None) -> Iterable[upserts.Upsert]:
    """Yield the upserts of new nodes, or of these properties of known ones."""
    for row in rows:
        written = row_to_write(row, NODE_KEYS, names, CREATED_AT if names is None else None)
        yield from upserts.vertex_upserts(written)


def edges(rows: Iterable[Row]) -> Iterable[upserts.Upsert]:
    """Yield the upserts of new edges."""
    return (upserts.edge_upsert(row_to_write(row, EDGE_KEYS, None, CREATED_AT)) for row in rows)


def csv_bytes(made: made_company.Dag) -> int:
    """Return the bytes of the compressed files of the bulk loader."""
    compressed = 0
    for fields, kind, rows in (
        (neptune_csv.VERTEX_FIELDS, neptune_csv.VERTICES, made.nodes.values()),
        (neptune_csv.EDGE_FIELDS, neptune_csv.EDGES, made.edges.values()),
    ):
        line = neptune_csv.lines_of(kind)
        lines = [each for row in rows for each in line(tuple(map(row.get, fields)))]
        compressed += len(gzip.compress("\n".join(lines).encode()))
    return compressed


def measure(tables: int) -> Sample:
    """Return the cost of an element of a company of so many tables."""
    made = made_company.company(tables)
    elements = len(made.nodes) + len(made.edges)
    nodes = cost_of(vertices(made.nodes.values()), elements)
    columns = [row for row in made.nodes.values() if row["label"] == "column"]
    engine = LocalEngine()
    number = shard_count(elements)
    stored = shards(engine.rows(made.nodes.values()), engine.rows(made.edges.values()), number)
    entries = [entries_of(shard) for shard in stored.collect()]
    return Sample(
        nodes.plus(cost_of(edges(made.edges.values()), elements)),
        cost_of(vertices(columns, ("data_type",)), len(columns)),
        csv_bytes(made) / elements,
        sum(len(encode_digests(each)) for each in entries) / elements,
        sum(len(encode_keys(each.number, each.keys)) for each in entries) / elements,
    )


def loads(elements: int, changed_share: float, sample: Sample) -> list[Load]:
    """Return the costs of a first load, one that changes nothing, and one with a share changed."""
    number = shard_count(elements)
    changed = elements * changed_share
    touched = number * -math.expm1(-changed / number)
    state = len(RunState(shards=(bytes(DIGEST_BYTES),) * number).text())
    fixed = Cost(FIXED_REQUESTS, state)
    digests = elements * sample.digest_bytes
    all_digests = Cost(2 * number / NEW_PER_REQUEST, digests + elements * sample.keys_bytes)
    share = touched / number
    of_changes = Cost(changed / IDS_PER_REQUEST, 0).plus(sample.change.times(changed))
    of_digests = Cost(touched / IDS_PER_REQUEST + touched / CHANGED_PER_REQUEST, digests * share)
    return [
        Load(elements, "first load", sample.write.times(elements).plus(all_digests).plus(fixed)),
        Load(elements, "first load, bulk loader", Cost(all_digests.requests, elements * sample.csv_bytes)),
        Load(elements, "unchanged", fixed, state),
        Load(
            elements,
            f"{changed_share:.2%} changed",
            of_changes.plus(of_digests).plus(fixed),
            state + digests * share,
        ),
    ]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=1_000, help="size of the sample, 52 elements per table")
    parser.add_argument("--elements", type=int, nargs="+", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--changed", type=float, nargs="+", default=[0.0001, 0.01], help="changed shares")
    parser.add_argument(
        "--write-ms", type=float, default=2.4, help="time of the server for one write request"
    )
    parser.add_argument(
        "--at-a-time", type=int, default=1, help="requests that the server executes at a time"
    )
    options.add_to(parser, {"tables": 20, "elements": [10_000]})
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    sample = measure(arguments.tables)
    print(f"{'elements':>12} {'load':24} {'requests':>10} {'MiB sent':>10} {'MiB read':>10} {'minutes':>8}")
    figures = []
    for elements in arguments.elements:
        of_size: dict[str, Load] = {}
        for share in arguments.changed:
            of_size |= {each.name: each for each in loads(elements, share, sample)}
        for each in of_size.values():
            minutes = each.cost.requests * arguments.write_ms / arguments.at_a_time / 60_000
            shown = "" if "bulk" in each.name else f"{minutes:8.1f}"
            print(
                f"{elements:>12,} {each.name:24} {each.cost.requests:>10,.0f} {each.cost.sent / _MIB:>10,.2f}"
                f" {each.read / _MIB:>10,.2f} {shown:>8}"
            )
            case = f"{elements:,} elements"
            figures.append(Figure(case, f"{each.name}, requests", round(each.cost.requests), "requests"))
            figures.append(Figure(case, f"{each.name}, sent", round(each.cost.sent / _MIB, 2), "MiB"))
    results.append(arguments.results, "capacity", figures)


if __name__ == "__main__":
    main()
