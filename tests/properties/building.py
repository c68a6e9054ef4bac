"""What a batch of pipelines is merged to, and the rows of each of them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lineage_merge import config
from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.infra.engine.rows import Rows as EngineRows
from lineage_merge.merge import dataset_resolver, join
from lineage_merge.model.records import Record
from lineage_merge.orchestration.read_sources import list_configured_sources, read_all
from tests.properties import batch
from tests.properties.batch import Pipelines, twin

Row = dict[str, Any]
_PREFIX = re.compile(r"[qw]\d{4}q")


@dataclass(frozen=True)
class Rows:
    """Nodes and edges of one graph, by id."""

    nodes: Mapping[str, Row]
    edges: Mapping[str, Row]

    @cached_property
    def parts(self) -> Mapping[str, "Rows"]:
        """The rows of each pipeline, by prefix."""
        found: defaultdict[str, tuple[dict[str, Row], dict[str, Row]]] = defaultdict(lambda: ({}, {}))
        for place, rows in enumerate((self.nodes, self.edges)):
            for key, row in rows.items():
                found[whose(row)][place][key] = row
        return {prefix: Rows(*parts) for prefix, parts in found.items()}

    def of(self, prefix: str) -> "Rows":
        """Those of one pipeline."""
        return self.parts.get(prefix, Rows({}, {}))

    def as_twin(self) -> "Rows":
        """What the twin's rows must be: edges by what they are, since their ids are hashes."""
        return Rows(_renamed(self.nodes), _by_text(_renamed(self.edges)))

    def by_text(self) -> "Rows":
        """With edges by what they are."""
        return Rows(self.nodes, _by_text(self.edges))


@dataclass(frozen=True)
class Built:
    """One reading of the sources: merged as it is and with temporary datasets left out."""

    whole: Rows
    folded: Rows


def whose(row: Row) -> str:
    """The prefix of the pipeline that a row belongs to."""
    named = {*_PREFIX.findall(f"{row['id']} {row.get('from')} {row.get('to')} {row.get('job_name')}")}
    assert len(named) == 1, f"of several pipelines, or of none: {row}"
    return str(named.pop())


def build(engine: Engine, found: Pipelines, folder: Path) -> Built:
    """Write the pipelines down, and read and merge them all at once."""
    settings = batch.write(found, folder)
    records = read_all(
        engine, settings, dataset_resolver.from_config(settings), list_configured_sources(settings)
    )
    built = Built(
        whole=_merged(records, settings, config.Merge()), folded=_merged(records, settings, settings.merge)
    )
    engine.unpersist_all()
    return built


def _merged(records: EngineRows[Record], settings: Config, merge: config.Merge) -> Rows:
    graph = join.merge(records, settings.environment, settings.dag_name, merge)
    return Rows(plain(graph.nodes.collect()), plain(graph.edges.collect()))


def plain(rows: Iterable[Row]) -> dict[str, Row]:
    """Rows by id, without what is not known; an id comes once."""
    found: dict[str, Row] = {}
    for each in rows:
        assert each["id"] not in found, f"two rows of {each['id']}"
        found[each["id"]] = {key: value for key, value in each.items() if value is not None}
    return found


def _renamed(rows: Mapping[str, Row]) -> dict[str, Row]:
    return {
        _as_twin(key): {name: _as_twin(value) for name, value in row.items()} for key, row in rows.items()
    }


def _as_twin(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_twin(each) for each in value]
    return _PREFIX.sub(lambda match: twin(match[0]), value) if isinstance(value, str) else value


def _by_text(edges: Mapping[str, Row]) -> dict[str, Row]:
    return {
        f"{row.get('job_name')} {row['from']} {row['label']} {row['to']}": row | {"id": ""}
        for row in edges.values()
    }
