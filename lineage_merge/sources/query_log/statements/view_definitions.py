"""Definitions of views from a warehouse's catalog: of views that are older than its history. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lineage_merge.model.elements import Reference
from lineage_merge.sources.query_log.statements.catalog import reference_of
from lineage_merge.sources.query_log.statements.facts import creates_view
from lineage_merge.sources.query_log.statements.owners import DBT
from lineage_merge.sources.query_log.statements.statement import UNDONE, LoggedStatement, Prepared
from lineage_merge.sources.query_log.statements.units import Unit

_PART = r'(?:"(?:[^"]|"")+"|[^\s".(;]+)'
# The name of a view while dbt builds it.
_DBT_TEMPORARY = "__dbt_tmp"
_CREATE = re.compile(
    r"(?P<head>(?:\s|--[^\n]*\n|/\*.*?\*/)*create\s+(?:or\s+replace\s+)?(?:materialized\s+)?view\s+)"
    rf"(?P<name>{_PART}(?:\s*\.\s*{_PART})*)",
    re.IGNORECASE | re.DOTALL,
)


class ViewDefinition(NamedTuple):
    """A view of the catalog.

    `definition`: the query, or the statement that created the view (late-binding and materialized views of
    Redshift). `search_path`: schemas of unqualified names in it. `location`: the file that has it; of several
    definitions of a view the one of the last location counts.
    """

    database: str
    schema: str
    name: str
    definition: str
    search_path: tuple[str, ...] = ()
    location: str = ""


def statement_of(view: ViewDefinition) -> LoggedStatement:
    """Return the statement that creates a view, with its name as the session."""
    name = ".".join(f'"{part.replace(chr(34), chr(34) * 2)}"' for part in (view.schema, view.name))
    created = _CREATE.match(view.definition)
    if created is None:
        text = f"create view {name} as {view.definition}"
    elif _is_name(created["name"], view):
        text = view.definition
    else:  # unqualified, or of before it was renamed
        text = f"{created['head']}{name}{view.definition[created.end() :]}"
    session = "\0".join((view.database, view.schema, view.name))
    return LoggedStatement(view.location, session, text, database=view.database, search_path=view.search_path)


def _is_name(text: str, view: ViewDefinition) -> bool:
    parts = [part.casefold() for part in _parts(text)]
    return parts[-2:] == [view.schema.casefold(), view.name.casefold()]


def _parts(name: str) -> list[str]:
    return [
        part[1:-1].replace('""', '"') if part.startswith('"') else part for part in re.findall(_PART, name)
    ]


def newer(one: Prepared, other: Prepared) -> Prepared:
    """Return the definition of a view that counts."""
    return max(one, other, key=lambda view: (view.statement.id, view.template.text))


def unit_of(view: Prepared, default_path: Sequence[str]) -> Unit | None:
    """Return the unit of a definition; None for one of dbt, whose manifest has it."""
    statement, template = view
    owner = template.owner
    if owner is not None and owner.job_type == DBT:
        return None
    path = statement.search_path or tuple(name for name in default_path if name != "$user")
    job = owner.name if owner is not None else ""
    return Unit((template.text,), 0, statement.database, path, job, template.fingerprint, ((),))


def view_of_dbt(prepared: Prepared, namespace: str) -> Iterator[Reference]:
    """Yield the view that a statement of dbt creates."""
    statement, template = prepared
    if statement.outcome in UNDONE or not creates_view(template.text):
        return
    owner, created = template.owner, _CREATE.match(template.text)
    if owner is not None and owner.job_type == DBT and created is not None:
        *schema, name = _parts(created["name"])
        parts = [statement.database, *schema][-2:]
        yield reference_of(namespace, (*parts, name.removesuffix(_DBT_TEMPORARY)))
