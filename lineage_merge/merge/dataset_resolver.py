"""Which dataset a reference means: the one place where identities are decided. Pure.

It runs on Spark's workers, so it holds nothing but settings and pickles well: what it remembers of references
is not pickled.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge import naming
from lineage_merge.config import Config
from lineage_merge.infra.redaction import redact
from lineage_merge.merge import identity_rules
from lineage_merge.model.elements import DatasetName, Reference, dataset_id
from lineage_merge.model.errors import NamingError
from lineage_merge.sources import registry

# By what a short name became complete, or a catalog of Spark's the one of the configuration.
DEFAULT = "default-schema"
SPARK_CATALOG = "spark-catalog"
_MOST_REMEMBERED = 10_000


class Replaced(NamedTuple):
    """A name that a reference would have without one part of the configuration.

    `rule` is that part; `everywhere`: all references to the name are replaced, in every DAG.
    """

    name: DatasetName
    rule: str
    everywhere: bool = False


class Identity(NamedTuple):
    """What a reference turned out to be.

    `name` None: it names no dataset, and `problem` says why. `rule` is the rule that joined
    it, "" where its own name is its identity; `alias` is then the name it had.
    `problem` beside a name: the dataset is known by its own name, but what it stands for is not.
    `replaced` are the names that the configuration replaced by `name`; `own`: it is a location that no
    rule knows, under its own name.
    """

    name: DatasetName | None
    short_name: str = ""
    label: str = ""
    stored_as_files: bool = False
    rule: str = ""
    alias: str = ""
    problem: str = ""
    replaced: tuple[Replaced, ...] = ()
    own: bool = False


class _Identities(dict[Reference, Identity]):
    """The identities of some references, computed once in each process: many plans read the same datasets."""

    def __reduce__(self) -> tuple[type["_Identities"], tuple[()]]:
        return _Identities, ()

    def add(self, ref: Reference, identity: Identity) -> None:
        """Remember an identity, and forget all others where there are many."""
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        self[ref] = identity


@dataclass(frozen=True, slots=True)
class DatasetResolver:
    """The rules and defaults of one configuration."""

    environment: str
    rules: identity_rules.Rules
    # The metastore behind a name that only Spark gives it: its catalog's.
    catalogs: Mapping[str, str] = field(default_factory=dict)
    _remembered: _Identities = field(default_factory=_Identities, init=False, repr=False, compare=False)

    def identity(self, ref: Reference) -> Identity:
        """The identity behind a reference; never raises."""
        found = self._remembered.get(ref)
        if found is None:
            try:
                found = self._identity(ref)
            except NamingError as error:
                found = Identity(None, problem=error.message)
            self._remembered.add(ref, found)
        return found

    def identify(self, ref: Reference) -> str:
        """The id of the dataset, or the reference's own text where it names none."""
        name = self.identity(ref).name
        return dataset_id(self.environment, name) if name else redact(f"?{ref.namespace}|{ref.name}")

    def _identity(self, ref: Reference) -> Identity:
        defaults = self.rules.defaults
        if ref.namespace:
            namespace = self.catalogs.get(ref.namespace, ref.namespace)
            named = naming.name_dataset(namespace, ref.name, defaults)
            replaced = [
                Replaced(naming.name_dataset(ref.namespace, ref.name, defaults).name, SPARK_CATALOG),
                Replaced(naming.name_dataset(namespace, ref.name).name, DEFAULT),
            ]
            return _as_identity(named, replaced)
        match = self.rules.match(ref)
        if match and match.dataset:
            replaced = [
                Replaced(name, match.rule, match.everywhere) for name in _own_names(ref.name, defaults)
            ]
            joined = _as_identity(naming.name_dataset(*match.dataset, defaults), replaced)
            return joined._replace(rule=match.rule, alias=_own_name(ref.name))
        named = naming.name_uri(ref.name, defaults)
        problem = match.problem if match else ""
        if not problem and named.generated:
            problem = (
                "a generated path: if it stands for a table, such as one that Spark's Redshift connector"
                " loads, add a rule with the application's name"
            )
        replaced = [Replaced(name, DEFAULT) for name in _own_names(ref.name, {})]
        return _as_identity(named, replaced)._replace(problem=problem, own=True)


def path_of(name: DatasetName) -> str:
    """The path of a dataset that is kept in files: ``s3://tickit-lake/sales_dl``, ``/data/x``."""
    if name.namespace == "file":
        return name.name
    return f"{name.namespace.rstrip('/')}/{name.name.lstrip('/')}"


def from_config(config: Config) -> DatasetResolver:
    """The names of a configuration."""
    catalogs: dict[str, str] = {}
    for source, settings in registry.configured(config):
        catalogs |= source.catalogs(settings)
    return DatasetResolver(config.environment, identity_rules.from_config(config), catalogs)


def _as_identity(named: naming.Named, replaced: Iterable[Replaced]) -> Identity:
    others = {each.name: each for each in replaced if each.name != named.name}
    return Identity(
        named.name, named.short_name, named.label, named.stored_as_files, replaced=tuple(others.values())
    )


def _own_names(uri: str, defaults: Mapping[str, str]) -> Iterator[DatasetName]:
    """A location's own names, without rules: with and without defaults. None where it names no dataset."""
    for known in (defaults, {}):
        try:
            yield naming.name_uri(uri, known).name
        except NamingError:
            return


def _own_name(uri: str) -> str:
    """A location's own name, without what was generated: two runs must not give two aliases."""
    try:
        return "|".join(naming.name_uri(uri).name)
    except NamingError:
        return redact(uri)
