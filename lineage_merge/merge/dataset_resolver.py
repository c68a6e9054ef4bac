"""Resolution of dataset references to identities, and of elements to records with ids. Pure.

Runs on Spark's workers, so it contains only settings and is small to pickle: its cache is not pickled.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lineage_merge import naming
from lineage_merge.config import Config
from lineage_merge.infra.redaction import redact
from lineage_merge.merge import identity_rules
from lineage_merge.merge.record_builder import Identity, RecordBuilder, ReplacedName
from lineage_merge.model.elements import DatasetName, Element, Reference, dataset_id
from lineage_merge.model.errors import NamingError
from lineage_merge.model.records import Record
from lineage_merge.naming.identifiers import join_name, split_name
from lineage_merge.naming.jobs import SESSION_CATALOG
from lineage_merge.sources import registry

# Parts of the configuration that complete a short name or map a Spark catalog.
DEFAULT = "default-schema"
SPARK_CATALOG = "spark-catalog"
# Database and table.
_LEVELS = 2
_MAX_CACHED = 10_000


class _IdentityCache(dict[Reference, Identity]):
    """Cache of identities per process: many plans read the same datasets."""

    def __reduce__(self) -> tuple[type["_IdentityCache"], tuple[()]]:
        return _IdentityCache, ()

    def add(self, ref: Reference, identity: Identity) -> None:
        """Add an identity; a full cache is cleared."""
        if len(self) >= _MAX_CACHED:
            self.clear()
        self[ref] = identity


@dataclass(frozen=True, slots=True)
class DatasetResolver:
    """Resolves references by the rules and defaults of one configuration."""

    environment: str
    rules: identity_rules.Rules
    # The metastore of each Spark catalog name.
    catalogs: Mapping[str, str] = field(default_factory=dict)
    _cache: _IdentityCache = field(default_factory=_IdentityCache, init=False, repr=False, compare=False)

    def resolve(self, ref: Reference) -> Identity:
        """Return the identity of a reference; never raises."""
        identity = self._cache.get(ref)
        if identity is None:
            try:
                identity = self._resolve(ref)
            except NamingError as error:
                identity = Identity(None, problem=error.message)
            self._cache.add(ref, identity)
        return identity

    def records(self, elements: Iterable[Element]) -> Iterator[Record]:
        """Yield elements as records, and at the first reference to each dataset the properties of its name.

        A dataset that cannot be resolved becomes a problem; elements that depend on it are dropped.
        """
        builder = RecordBuilder(self.environment, self.resolve)
        for element in elements:
            yield from builder.records(element)

    def resolve_id(self, ref: Reference) -> str:
        """Return the id of the dataset, or the reference's own text if it names none."""
        name = self.resolve(ref).name
        return dataset_id(self.environment, name) if name else redact(f"?{ref.namespace}|{ref.name}")

    def resolves(self, ref: Reference) -> bool:
        """Return whether a reference names a dataset."""
        return self.resolve(ref).name is not None

    def _resolve(self, ref: Reference) -> Identity:
        defaults = self.rules.defaults
        if not ref.namespace and (table := naming.table_of_uri(ref.name)):
            ref = Reference(*table)
        ref = self._add_catalog(ref)
        if ref.namespace:
            namespace = self.catalogs.get(ref.namespace, ref.namespace)
            named = naming.name_dataset(namespace, ref.name, defaults)
            replaced = [
                ReplacedName(naming.name_dataset(ref.namespace, ref.name, defaults).name, SPARK_CATALOG),
                ReplacedName(naming.name_dataset(namespace, ref.name).name, DEFAULT),
            ]
            return _identity_of(named, replaced)
        match = self.rules.match(ref)
        if match and match.dataset:
            replaced = [
                ReplacedName(name, match.rule, match.everywhere)
                for name in _names_without_rules(ref.name, defaults)
            ]
            joined = _identity_of(naming.name_dataset(*match.dataset, defaults), replaced)
            return joined._replace(rule=match.rule, alias=_alias_name(ref.name))
        named = naming.name_uri(ref.name, defaults)
        problem = match.problem if match else ""
        if not problem and named.generated:
            problem = (
                "a generated path: if it stands for a table, such as one that Spark's Redshift connector"
                " loads, add a rule with the application's name"
            )
        replaced = [ReplacedName(name, DEFAULT) for name in _names_without_rules(ref.name, {})]
        return _identity_of(named, replaced)._replace(problem=problem, own=True)

    def _add_catalog(self, ref: Reference) -> Reference:
        """Return a table with its catalog if SQL names another one than the session's: ``lake.db.orders``."""
        if ref.namespace != SESSION_CATALOG and ref.namespace not in self.catalogs.values():
            return ref
        catalog, *below = (part.value for part in split_name(ref.name))
        if len(below) < _LEVELS or (ref.namespace != SESSION_CATALOG and catalog not in self.catalogs):
            return ref
        # Names of the session's catalog have no case either.
        return Reference(catalog.lower(), join_name([part.lower() for part in below]), ref.application)


def from_config(config: Config) -> DatasetResolver:
    """Return the resolver of a configuration."""
    catalogs: dict[str, str] = {}
    for source, settings in registry.list_configured(config):
        catalogs |= source.catalogs(settings)
    return DatasetResolver(config.environment, identity_rules.from_config(config), catalogs)


def _identity_of(named: naming.Named, replaced: Iterable[ReplacedName]) -> Identity:
    others = {
        replaced_name.name: replaced_name for replaced_name in replaced if replaced_name.name != named.name
    }
    return Identity(
        named.name, named.short_name, named.label, named.stored_as_files, replaced=tuple(others.values())
    )


def _names_without_rules(uri: str, defaults: Mapping[str, str]) -> Iterator[DatasetName]:
    """Yield a location's names without rules, with and without defaults; none if it names no dataset."""
    for known in (defaults, {}):
        try:
            yield naming.name_uri(uri, known).name
        except NamingError:
            return


def _alias_name(uri: str) -> str:
    """Return a location's name without generated parts: two runs must not create two aliases."""
    try:
        return "|".join(naming.name_uri(uri).name)
    except NamingError:
        return redact(uri)
