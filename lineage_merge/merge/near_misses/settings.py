"""Parts of a configuration that decide names, and a change of them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from lineage_merge.sources.settings import NamespaceSetting


@dataclass(frozen=True, slots=True)
class Settings:
    """The parts of a configuration that decide names.

    `confirmed`: namespaces in which a source and another one have a dataset in common, without a rule that
    places it there, so they are correct.
    `by_jdbc`: datasets that Spline records with a JDBC URL, which rules match. `completed`: short names that
    a default schema completes, by dataset; `directories`: temporary directories by the table that they
    represent. `known`: ids that a rule for a path must not match, sorted.
    """

    namespaces: tuple[NamespaceSetting, ...] = ()
    default_schemas: Mapping[str, str] = field(default_factory=dict)
    confirmed: frozenset[str] = frozenset()
    by_jdbc: frozenset[str] = frozenset()
    completed: Mapping[str, str] = field(default_factory=dict)
    directories: Mapping[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()


class Fix(NamedTuple):
    """A change of the configuration: its key, and YAML; "" if no configuration joins the pair."""

    key: str = ""
    yaml: str = ""


def as_yaml(value: Mapping[str, Any]) -> str:
    """Return a part of a configuration to paste."""
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000))
