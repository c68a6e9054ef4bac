"""Names of datasets as DataZone knows them: those of the assets that Glue and Redshift data sources made.

DataZone joins an event's dataset to an asset by its `sourceIdentifier`, the ARN of a table. It computes that
of the name in the event: of ``redshift://...`` by the host, otherwise as ``namespace/name``. So a Glue table
is named ``arn:aws:glue:region:account:table`` + ``database/table`` (docs/exporters.md#datazone).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any, NamedTuple

Json = dict[str, Any]

_ARN = re.compile(
    r"arn:(?P<partition>aws[\w-]*):(?P<service>glue|redshift|redshift-serverless):(?P<region>[\w-]+)"
    r":(?P<account>\d*):(?P<kind>table|view)/(?P<path>.+)"
)
_GLUE_NAMESPACE = re.compile(r"arn:aws[\w-]*:glue:[\w-]+:\d*")
_ATHENA = re.compile(r"awsathena://athena\.(?P<region>[\w-]+)\.amazonaws\.com.*")
# The short form of OpenLineage, and the complete host.
_REDSHIFT = re.compile(
    r"redshift://(?P<id>[^.:/]+)\.(?:(?P<owner>\w+)\.)?(?P<region>[a-z]{2,3}(?:-[a-z]+)+-\d)"
    r"(?:\.(?P<service>redshift|redshift-serverless)\.amazonaws\.com(?:\.cn)?)?(?::(?P<port>\d+))?"
)
_DEFAULT_PORT = "5439"


class Table(NamedTuple):
    """A Glue or Redshift table or view, by the parts of its ARN. `path`: ``database/table`` or
    ``cluster/database/schema/table``."""

    partition: str
    service: str
    region: str
    account: str
    kind: str
    path: str

    def name_in_event(self, port: str) -> tuple[str, str]:
        """Return namespace and name of which DataZone computes this ARN."""
        if self.service == "glue":
            prefix = f"arn:{self.partition}:{self.service}:{self.region}:{self.account}"
            return f"{prefix}:{self.kind}", self.path
        host, _, path = self.path.partition("/")
        domain = "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"
        address = f"{host}.{self.account}.{self.region}.{self.service}.{domain}:{port}"
        return f"redshift://{address}", path.replace("/", ".")


def parse_arn(text: str, project: str = "") -> Table | None:
    """Return the table of an ARN; identifiers of assets may end with ``.`` and the id of their project."""
    match = _ARN.fullmatch(text.removesuffix(f".{project}") if project else text)
    return Table(**match.groupdict()) if match else None


class _Candidate(NamedTuple):
    """What is known of a table: empty texts are unknown. Paths of Glue are shorter."""

    service: str
    region: str
    account: str
    path: str
    port: str = _DEFAULT_PORT

    def fits(self, table: Table) -> bool:
        return (
            self.service in ("", table.service)
            and table.region == self.region
            and self.account in ("", table.account)
        )


@dataclass(slots=True)
class Names:
    """Renames datasets of events. `tables`: those of assets; None: unknown, nothing is reported.

    `namespaces`: DataZone's namespace by namespace of the graph, for datasets without an asset.
    `missing`, `ambiguous`: what was renamed so far and has no asset, or several.
    """

    namespaces: Mapping[str, str]
    tables: Iterable[Table] | None = None
    datasets: set[tuple[str, str]] = field(default_factory=set)
    missing: set[tuple[str, str]] = field(default_factory=set)
    ambiguous: set[tuple[str, str]] = field(default_factory=set)
    _by_path: dict[str, set[Table]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for table in self.tables or ():
            self._by_path[table.path.casefold()].add(table)

    def rename(self, event: Json) -> Json:
        """Return an event whose datasets, also those of columns, have DataZone's names."""
        datasets = [*event.get("inputs", ()), *event.get("outputs", ())]
        names = {name_of(dataset): self._find_name(dataset) for dataset in datasets}

        def rename_part(part: Json) -> Json:
            old = name_of(part)
            namespace, name = names[old] if old in names else self._find_name(part)
            return {**part, "namespace": namespace, "name": name}

        def output(dataset: Json) -> Json:
            facets = dataset.get("facets", {})
            if lineage := facets.get("columnLineage"):
                fields = {
                    column: {**value, "inputFields": [*map(rename_part, value["inputFields"])]}
                    for column, value in lineage["fields"].items()
                }
                rows = {"dataset": [*map(rename_part, lineage["dataset"])]} if "dataset" in lineage else {}
                facets = {**facets, "columnLineage": {**lineage, "fields": fields, **rows}}
            return rename_part({**dataset, "facets": facets})

        return {
            **event,
            "inputs": [*map(rename_part, event.get("inputs", ()))],
            "outputs": [*map(output, event.get("outputs", ()))],
        }

    def _find_name(self, dataset: Json) -> tuple[str, str]:
        old = name_of(dataset)
        self.datasets.add(old)
        symlinks = dataset.get("facets", {}).get("symlinks", {}).get("identifiers", ())
        others = [name_of(symlink) for symlink in symlinks]
        candidates = list(filter(None, starmap(_candidate, (old, *others))))
        tables = {table: candidate.port for candidate in candidates for table in self._tables(candidate)}
        if len(tables) == 1:
            ((table, port),) = tables.items()
            return table.name_in_event(port)
        if self.tables is not None:
            (self.ambiguous if tables else self.missing).add(old)
        # The ARN of a Glue table is complete without an asset.
        glue = set(filter(None, starmap(_glue_table, (old, *others))))
        if len(glue) == 1:
            return glue.pop().name_in_event(_DEFAULT_PORT)
        return self.namespaces.get(old[0], old[0]), old[1]

    def _tables(self, candidate: _Candidate) -> Iterator[Table]:
        return (table for table in self._by_path.get(candidate.path.casefold(), ()) if candidate.fits(table))


def _glue_table(namespace: str, name: str) -> Table | None:
    return parse_arn(f"{namespace}:{name}") if _GLUE_NAMESPACE.fullmatch(namespace) else None


def _candidate(namespace: str, name: str) -> _Candidate | None:
    if table := _glue_table(namespace, name):
        return _Candidate("glue", table.region, table.account, table.path)
    if match := _ATHENA.fullmatch(namespace):
        _, _, path = name.partition(".")  # the catalog
        return _Candidate("glue", match["region"], "", path.replace(".", "/", 1))
    if match := _REDSHIFT.fullmatch(namespace):
        owner = match["owner"] or ""  # of a cluster's host: no account, but random
        path = f"{match['id']}/{name.replace('.', '/', 2)}"
        account = owner if owner.isdigit() else ""
        return _Candidate(
            match["service"] or "", match["region"], account, path, match["port"] or _DEFAULT_PORT
        )
    return None


def name_of(dataset: Json) -> tuple[str, str]:
    """Return namespace and name of a dataset in an event."""
    return dataset["namespace"], dataset["name"]
