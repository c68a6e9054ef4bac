"""What one statement does to one dataset, as it is found out. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from lineage_merge.column_lineage.sql.derivation import Derivation, Influences, merged
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.model.elements import DatasetLabel

Mode = Literal["append", "overwrite", ""]
Columns = list[tuple[str, Derivation]]


@dataclass(slots=True)
class Write:
    """A statement's write of one dataset. Datasets are keys of `names.Datasets`.

    `reads`: the datasets that it reads, each with the temporary ones on the way. `columns`: what it
    writes of which column. `columns_lost`: by which columns data comes is not known.
    """

    target: str
    line: int
    mode: Mode = ""
    label: DatasetLabel | None = None
    reads: dict[str, set[str]] = field(default_factory=dict)
    columns: Columns = field(default_factory=list)
    influences: Influences = field(default_factory=dict)
    columns_lost: bool = False


@dataclass(slots=True)
class Note:
    """What could not be told of a statement: `kind` as in `model.Problem`."""

    kind: Literal["rejected", "skipped", "not-joined", "no-columns", "notice"]
    line: int
    message: str


def together(columns: Iterable[tuple[str, Derivation]]) -> Columns:
    """Columns of several branches, each once."""
    names: dict[str, str] = {}
    found: dict[str, list[Derivation]] = {}
    for name, derivation in columns:
        names.setdefault(fold(name), name)
        found.setdefault(fold(name), []).append(derivation)
    return [(names[key], merged(derivations)) for key, derivations in found.items()]
