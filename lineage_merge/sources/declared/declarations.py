"""The documents: YAML with edges and descriptions of datasets, each with who, why and until when. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import NamedTuple

from lineage_merge.config.layers import SettingOrigins
from lineage_merge.infra import yaml_text
from lineage_merge.infra.json_schema import Checker
from lineage_merge.infra.setting import DAY, Form, Texts, declare, parse, schema_of
from lineage_merge.model.elements import DatasetLabel, Problem, Reference, field_path
from lineage_merge.model.errors import ConfigError

_NAME = "a URI, or namespace|name"


class Place(NamedTuple):
    """A dataset, or a column of it ("": the dataset)."""

    dataset: Reference
    column: str = ""


def parse_place(text: str) -> Place | None:
    """Return the dataset, or the column behind the last ``#``; None for a name without a namespace."""
    name, mark, column = text.strip().rpartition("#")
    if not mark:
        name, column = column, ""
    namespace, bar, rest = name.partition("|")
    path = field_path(*column.split(".")) if column else ""
    if bar:
        return Place(Reference(namespace, rest), path) if namespace and rest else None
    return Place(Reference("", name), path) if ":" in name or name.startswith("/") else None


def _check_place(text: str, key: str) -> str:
    if parse_place(text) is None:
        raise ConfigError(key, f"expected {_NAME}, found {text}")
    return text


@dataclass(frozen=True, slots=True)
class DeclaredEdge:
    """An edge between datasets, or columns. `columns`: of the target, each with its columns of the source."""

    source: str = declare(
        f"where the data comes from: {_NAME}; a column behind #",
        example="sftp://partner.example.com|out/orders",
        name="from",
        form=Form(parse=_check_place),
    )
    target: str = declare(
        "where it goes, likewise", example="s3://raw/orders", name="to", form=Form(parse=_check_place)
    )
    why: str = declare("why it is known", example="the partner's job copies the file every night")
    by: str = declare("who declares it", "", "ann@example.com", "the file's")
    until: date | None = declare("last day on which it counts", None, "2027-06-30", "no end", form=DAY)
    columns: Mapping[str, Texts] = declare(
        "columns of the target, each with the column or columns that it is computed from",
        {},
        {"order_id": "id"},
    )

    def complete(self, key: str) -> "DeclaredEdge":
        """Check that both ends are datasets, or both are columns."""
        ends = parse_place(self.source), parse_place(self.target)
        has_column = [bool(end and end.column) for end in ends]
        if has_column[0] != has_column[1]:
            raise ConfigError(key, "from and to must both be datasets, or both be columns")
        if self.columns and any(has_column):
            raise ConfigError(f"{key}.columns", "from and to are columns already")
        return self


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """What is known of a column."""

    description: str = declare("description", "", "number of the order")
    tags: tuple[str, ...] = declare("tags", (), ["pii"])
    owners: tuple[str, ...] = declare("owners", (), ["ann@example.com"])
    data_type: str = declare("type", "", "string")


@dataclass(frozen=True, slots=True)
class DeclaredDataset:
    """A dataset that no tool describes, or what tools do not say of one."""

    dataset: str = declare(
        _NAME, example="sftp://partner.example.com|out/orders", form=Form(parse=_check_place)
    )
    label: DatasetLabel | None = declare("kind of the dataset", None, "file", "by its namespace")
    description: str = declare("description", "", "orders of the partner's shop")
    tags: tuple[str, ...] = declare("tags", (), ["external"])
    owners: tuple[str, ...] = declare("owners", (), ["partner@example.com"])
    columns: Mapping[str, DeclaredColumn] = declare(
        "columns by name", {}, {"id": {"description": "number of the order"}}
    )
    until: date | None = declare("last day on which it counts", None, "2027-06-30", "no end", form=DAY)


@dataclass(frozen=True, slots=True)
class Declarations:
    """The content of a file."""

    by: str = declare("who declares what has no by of its own", "", "ann@example.com")
    lineage: tuple[DeclaredEdge, ...] = declare("edges", ())
    datasets: tuple[DeclaredDataset, ...] = declare("datasets", ())

    def complete(self, key: str) -> "Declarations":
        """Check that each edge says who declares it."""
        for number, edge in enumerate(self.lineage):
            if not (edge.by or self.by):
                raise ConfigError(f"lineage[{number}].by", "missing: who declares it")
        return self


class DeclarationFile(NamedTuple):
    """A parsed file, and the lines of its parts."""

    declarations: Declarations
    origins: SettingOrigins


@cache
def _checker() -> Checker:
    return Checker(schema_of(Declarations))


def parse_declarations(text: str, location: str) -> DeclarationFile | list[Problem]:
    """Return the declarations of a file, or what is wrong with it: a rejection per error, with its line."""
    try:
        parsed = yaml_text.parse_with_lines(text, location)
        origins = SettingOrigins(location, parsed.lines)
        errors = [ConfigError(error.path, error.problem) for error in _checker().errors(parsed.value)]
        if not errors:
            return DeclarationFile(parse(Declarations, parsed.value, ""), origins)
        raise origins.locate(errors)
    except ConfigError as error:
        located = error if error.origin else SettingOrigins(location, parsed.lines).locate([error])
        return [
            Problem("rejected", finding.origin or location, finding.key, finding.problem)
            for finding in located.findings
        ]
