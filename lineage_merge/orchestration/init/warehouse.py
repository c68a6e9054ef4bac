"""Choice of the namespace of a project's tables, which its document does not contain. Pure.

A dbt manifest has database, schema and table, and no host. Spark's side has the host where it reads or writes
these tables over JDBC, so the namespace is the one whose tables are those of the project.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from lineage_merge import naming
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.identity_rules import Rules
from lineage_merge.model.elements import DatasetName, Reference
from lineage_merge.model.errors import NamingError
from lineage_merge.naming import find_fixed_namespace, namespace_form
from lineage_merge.orchestration.init.findings import JobFindings
from lineage_merge.sources.discovery import ProjectFindings

# Schemes of namespaces, by platform. Others (Spark, Glue, DuckDB) read tables of any platform.
_SCHEMES: Mapping[str, tuple[str, ...]] = {
    "bigquery": ("bigquery",),
    "clickhouse": ("clickhouse",),
    "fabric": ("mssql",),
    "mysql": ("mysql",),
    "oracle": ("oracle",),
    "postgres": ("postgres",),
    "redshift": ("redshift",),
    "snowflake": ("snowflake",),
    "sqlserver": ("mssql",),
    "synapse": ("mssql",),
    "teradata": ("teradata",),
    "vertica": ("vertica",),
}
_ENVIRONMENT = "init"
_WORD = re.compile(r"\w+")


class Choice(NamedTuple):
    """The namespace of a project's tables.

    `matched` are the project's datasets that Spark's side has in it. `alternatives` are other namespaces
    with as many. `is_known` False: it is a guess; `is_of_jobs`: Spark's side has the namespace. `is_given`:
    by the user; then `better` is another namespace, in which Spark's side has the tables `better_matched`.
    """

    namespace: str
    matched: frozenset[str] = frozenset()
    alternatives: tuple[str, ...] = ()
    is_known: bool = False
    is_of_jobs: bool = False
    is_given: bool = False
    better: str = ""
    better_matched: frozenset[str] = frozenset()


def choose(project: ProjectFindings, jobs: JobFindings) -> Choice:
    """Choose the namespace whose tables on Spark's side are those of the project."""
    candidates = _candidates(project.platform, jobs)
    matches = {candidate: _best_match(project, candidate, jobs) for candidate in candidates}
    ranks = {namespace: _rank(project, matched) for namespace, matched in matches.items()}
    best = max(ranks.values(), default=(0, 0))
    best_of = sorted(namespace for namespace, rank in ranks.items() if rank == best)
    if not any(best):
        if fixed := find_fixed_namespace(project.platform):
            return Choice(fixed, is_known=True)
        # Without a restriction to the platform, any table of Spark would be a candidate.
        if project.platform not in _SCHEMES or not best_of:
            return Choice(namespace_form(project.platform))
        return Choice(best_of[0], alternatives=tuple(best_of[1:]), is_of_jobs=True)
    first, *others = best_of
    return Choice(first, matches[first], tuple(others), not others, is_of_jobs=True)


def choose_given(namespace: str, project: ProjectFindings, jobs: JobFindings) -> Choice:
    """Return the choice of a namespace that was given, and a better one if Spark's side has it."""
    canonical = _canonical(namespace)
    is_of_jobs = canonical in {name.namespace for name in tables(jobs)}
    # A temporary directory contains no host: it is in any namespace, and confirms none.
    matched = _best_match(project, namespace, jobs) if is_of_jobs else frozenset[str]()
    best = choose(project, jobs)
    is_best = not best.matched or canonical in (best.namespace, *best.alternatives)
    better = ("", frozenset[str]()) if is_best else (best.namespace, best.matched)
    return Choice(namespace, matched, (), True, is_of_jobs, True, *better)


def _canonical(namespace: str) -> str:
    try:
        return naming.canonical_namespace(namespace)
    except NamingError:
        return namespace


class DefaultSchema(NamedTuple):
    """A default ``database.schema``, and the datasets that are joined only with it."""

    schema: str
    completed: frozenset[str]


def default_schema(
    namespace: str, projects: Iterable[ProjectFindings], jobs: JobFindings
) -> DefaultSchema | None:
    """Return the default schema with which most datasets are joined; None if no default is needed."""
    given_projects = list(projects)
    names = frozenset[str]().union(*(project.sources | project.built for project in given_projects))
    without = _match_names(namespace, "", names, jobs)
    schemas = dict.fromkeys(schema for project in given_projects for schema in project.schemas)
    matches = [
        (schema, _match_names(namespace, schema, names, jobs))
        for schema in schemas
        if _completes(namespace, schema)
    ]
    # The first of several with as many.
    schema, matched = max(matches, key=lambda match_: len(match_[1]), default=("", without))
    return DefaultSchema(schema, matched - without) if len(matched) > len(without) else None


def _best_match(project: ProjectFindings, namespace: str, jobs: JobFindings) -> frozenset[str]:
    names = project.sources | project.built
    defaults = ["", *(schema for schema in project.schemas if _completes(namespace, schema))]
    matches = [_match_names(namespace, default, names, jobs) for default in defaults]
    return max(matches, key=lambda matched: _rank(project, matched))


def _rank(project: ProjectFindings, matched: frozenset[str]) -> tuple[int, int]:
    # Sources first: Spark writes them. A model's name may exist in several environments' warehouses.
    return len(matched & project.sources), len(matched)


def _match_names(namespace: str, default: str, names: frozenset[str], jobs: JobFindings) -> frozenset[str]:
    """Return the names of datasets that Spark's side has, if the project's tables are in a namespace."""
    return _match(namespace, default, names, jobs.references, tuple(sorted(jobs.catalogs.items())))


@lru_cache(maxsize=256)
def _match(
    namespace: str,
    default: str,
    names: frozenset[str],
    references: frozenset[Reference],
    catalogs: tuple[tuple[str, str], ...],
) -> frozenset[str]:
    warehouses = (namespace,) if namespace.startswith("redshift://") else ()
    rules = Rules((), warehouses, {namespace: default} if default else {})
    resolver = DatasetResolver(_ENVIRONMENT, rules, dict(catalogs))
    names, references = _select_common_words(names, references)
    of_jobs = {resolver.resolve(reference).name for reference in references} - {None}
    return frozenset(name for name in names if resolver.resolve(Reference(namespace, name)).name in of_jobs)


@lru_cache(maxsize=64)
def _select_common_words(
    names: frozenset[str], references: frozenset[Reference]
) -> tuple[frozenset[str], frozenset[Reference]]:
    """Return the names whose last word a reference has, and these references: others cannot match.

    Resolving each name with each namespace and default schema would take seconds for thousands of names.
    """
    words = {reference: set(_WORD.findall(reference.name.lower())) for reference in references}
    tables = {name: _WORD.findall(name.lower())[-1:] for name in names}
    of_jobs = set[str]().union(*words.values())
    common = {word for last in tables.values() for word in last if word in of_jobs}
    return (
        frozenset(name for name, last in tables.items() if common.issuperset(last)),
        frozenset(reference for reference, own_words in words.items() if not common.isdisjoint(own_words)),
    )


def _completes(namespace: str, schema: str) -> bool:
    try:
        return naming.completes_names(namespace, schema)
    except NamingError:
        return False


def _candidates(platform: str, jobs: JobFindings) -> list[str]:
    schemes = _SCHEMES.get(platform)
    namespaces = {name.namespace for name in tables(jobs)}
    return sorted(
        namespace for namespace in namespaces if schemes is None or namespace.partition(":")[0] in schemes
    )


def tables(jobs: JobFindings) -> set[DatasetName]:
    """Return the tables that Spark's side reads and writes, with their canonical names."""
    resolver = DatasetResolver(_ENVIRONMENT, Rules(), jobs.catalogs)
    datasets = (resolver.resolve(reference) for reference in jobs.references)
    return {dataset.name for dataset in datasets if dataset.name and dataset.label == "table"}
