"""Records: elements with ids and redacted texts, as they pass from the sources to the merge."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from lineage_merge.model.elements import Problem

# Set of an assumed edge in place of "transformation": if other records of the edge have that, it is known.
ASSUMED = "assumed_transformation"
# Set of a `feeds` record that marks a source which the same run had written before.
RUN_LOCAL = "run_local"


class Record(NamedTuple):
    """An element as one row; fields that a kind does not use are None or empty. By kind:

    dataset   target, label, authority, properties, sets: properties of a dataset from one source
    column    target, target_column, authority, properties, sets
    job       job, at, properties, sets
    assertion job, source (the assertion's key), target, target_column, label (of the edge), at, properties,
              sets
    operation job, source (the operation's key), properties
    feeds     source, target, job, properties, sets (with "run_local": merge/collapse_intermediate.py)
    feeds_column, influences
              source, source_column, target, target_column, job, sets: transformation (`ASSUMED` instead if
              the edge is assumed), expression
    follows   job, source and target are keys of operations
    writes    target, job
    alias     source is an alias of target, found by rule; sets: its text on vertices; of several
              targets, those with the highest authority count; properties: of a target that no other
              record may describe
    joined    target was found by rule
    resolved  target is the id of a reference, source the id that it has without rule, a part of the
              configuration; at is 1 if all references to source resolve to target. Both are equal if
              a location has its own name and no rule matches
    problem   rule is its kind; document, field, message; source is the key of the source that found it,
              set where all sources are read
    count     rule is what was counted, at the number
    runs      job, at the number of its successful runs that the source read: a target that none of them
              wrote is retired after `spline.retire_after` runs
    plan      internal to a source, dropped before the merge
    """

    kind: str
    source: str | None = None
    target: str | None = None
    source_column: str | None = None
    target_column: str | None = None
    job_type: str | None = None
    job_name: str | None = None
    label: str | None = None
    authority: int | None = None
    at: int | None = None
    rule: str | None = None
    properties: Mapping[str, str] = {}
    sets: Mapping[str, list[str]] = {}
    document: str | None = None
    field: str | None = None
    message: str | None = None


def problem_of(record: Record) -> Problem:
    """Return the problem of a record of kind ``problem``."""
    kind: Any = record.rule
    return Problem(kind, record.document or "", record.field or "", record.message or "")


class CatalogEntry(NamedTuple):
    """An entry of a catalog (a table) with its records. `key` None: they are about the whole catalog."""

    key: str | None
    records: tuple[Record, ...]
