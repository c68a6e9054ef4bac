"""The index of a history: lists, reads and writes the objects of merges, with reports and configurations.

Stored reports and configurations have no secrets.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from operator import itemgetter
from typing import Any

from lineage_merge.config import Config
from lineage_merge.history import layout
from lineage_merge.history.layout import DETAILS, KINDS, MERGES, MOVES, DagScope, MergeName
from lineage_merge.history.merge_record import FORMAT, MergeRecord, parse_object, parse_record
from lineage_merge.infra import storage
from lineage_merge.infra.redaction import MASK, names_secret, redact
from lineage_merge.merge.report import Report
from lineage_merge.model.errors import IntermediateError, SourceError

ScopedName = tuple[DagScope, MergeName]
# `history compact` may delete a merge after it was listed.
_LISTINGS = 5
_MOVES = "the moves of a merge"


def environments(location: str) -> list[str]:
    """Return the environments of a history, sorted."""
    names = storage.children(f"{location.rstrip('/')}/{MERGES}")
    return [environment for environment in map(layout.environment_of, names) if environment]


def scopes(location: str, environment: str | None = None, dag: str | None = None) -> list[DagScope]:
    """Return the environments and DAGs of a history, sorted; None: any."""
    dag_scopes: list[DagScope] = []
    for recorded_environment in environments(location) if environment is None else [environment]:
        names = storage.children(layout.environment_folder(location, MERGES, recorded_environment))
        dags = (layout.dag_name_of(name) for name in names)
        dag_scopes += [DagScope(recorded_environment, name) for name in dags if name and dag in (None, name)]
    return dag_scopes


def merge_names(location: str, scopes: Sequence[DagScope]) -> list[list[MergeName]]:
    """Return the merges of each DAG, oldest first."""
    listed = storage.children_of([layout.scope_folder(location, MERGES, scope) for scope in scopes])
    return [sorted(name for file_name in names if (name := layout.name_of(file_name))) for names in listed]


def read_records(location: str, merges: Sequence[ScopedName]) -> list[MergeRecord | None]:
    """Return these merges; None for one that was deleted meanwhile.

    Raises `IntermediateError` for an unknown format.
    """
    files = [layout.json_file(location, MERGES, *merge) for merge in merges]
    return [
        None if text is None else parse_record(text, storage.redact_location(file))
        for file, text in zip(files, storage.read_texts(files), strict=True)
    ]


def newest_record(location: str, scope: DagScope) -> MergeRecord | None:
    """Return the newest merge of a DAG; None if there is none."""
    return newest_until(location, [scope])[0]


def newest_until(
    location: str, scopes: Sequence[DagScope], time: int | None = None
) -> list[MergeRecord | None]:
    """Return the newest merge of each DAG that is not younger than a time (ms since 1970; None: any).

    None if a DAG has none.
    """
    for _ in range(_LISTINGS):
        names = [
            [merge for merge in name if time is None or merge.time <= time]
            for name in merge_names(location, scopes)
        ]
        newest = [(scope, merges[-1]) for scope, merges in zip(scopes, names, strict=True) if merges]
        records = dict(zip(newest, read_records(location, newest), strict=True))
        if None not in records.values():
            by_scope = {scope: record for (scope, _), record in records.items()}
            return [by_scope.get(dag_scope) for dag_scope in scopes]
    raise SourceError(f"{storage.redact_location(location)}: merges are deleted while they are read")


def write_record(location: str, scope: DagScope, record: MergeRecord) -> None:
    """Add a merge to the index, which completes it."""
    storage.create_file(layout.json_file(location, layout.MERGES, scope, record.name), record.text())


def write_moves(location: str, scope: DagScope, name: MergeName, ids: Mapping[str, str]) -> None:
    """Store the ids of datasets that a merge replaced, each with its new one."""
    text = json.dumps({"format": FORMAT, "moves": ids}, ensure_ascii=False)
    storage.create_file(layout.json_file(location, layout.MOVES, scope, name), text + "\n")


def read_moves(
    location: str, environment: str, after: MergeName, until: MergeName
) -> list[tuple[MergeName, dict[str, str]]]:
    """Return the ids that merges of an environment replaced, oldest first.

    A merge that is not complete counts: its load is. Raises `IntermediateError` for an unknown format.
    """
    folder = layout.environment_folder(location, MOVES, environment)
    dags = [dag for child in storage.children(folder) if (dag := layout.dag_name_of(child))]
    files: list[tuple[MergeName, str]] = []
    for dag in dags:
        scope = DagScope(environment, dag)
        for child in storage.children(layout.scope_folder(location, MOVES, scope), str(after)):
            name = layout.name_of(child)
            if name and after < name <= until:
                files.append((name, layout.json_file(location, layout.MOVES, scope, name)))
    texts = storage.read_texts([file for _, file in files])
    moves = [(name, _moves(text, file)) for (name, file), text in zip(files, texts, strict=True) if text]
    return sorted(moves, key=itemgetter(0))


def _moves(text: str, file: str) -> dict[str, str]:
    content = parse_object(text, storage.redact_location(file), _MOVES)
    try:
        return {str(old): str(new) for old, new in content["moves"].items()}
    except (KeyError, AttributeError):
        raise IntermediateError(f"{storage.redact_location(file)}: not {_MOVES}") from None


def entry_names(location: str, scope: DagScope, after: MergeName | None = None) -> set[MergeName]:
    """Return the merges that have files besides their object in the index, completed or not."""
    merges: set[MergeName] = set()
    for kind in KINDS:
        start = f"{layout.ENTRY}{after}" if after else ""
        for child in storage.children(layout.scope_folder(location, kind, scope), start):
            merges |= {name} if (name := layout.name_of(child)) else set()
    for child in storage.children(layout.scope_folder(location, DETAILS, scope), str(after or "")):
        merges |= {name} if (name := layout.name_of(child)) else set()
    return {merge_name for merge_name in merges if after is None or merge_name > after}


def write_details(file: str, report: Report | None, config: Config) -> None:
    """Write the report and the configuration of a merge."""
    values = {
        "report": report.as_redacted_json() if report else None,
        "configuration": redact_settings(config),
    }
    storage.create_file(file, json.dumps(values, ensure_ascii=False, indent=2) + "\n")


def read_report(location: str, scope: DagScope, record: MergeRecord) -> Report | None:
    """Return the report of a merge; of one that changed nothing that of the merge which it repeats."""
    names = [version for version in (record.name, record.runs, record.entry) if version]
    texts = storage.read_texts([layout.json_file(location, DETAILS, scope, name) for name in names])
    text = next((version_text for version_text in texts if version_text is not None), None)
    if text is None:
        return None
    try:
        report = json.loads(text)["report"]
        return Report.from_json(report) if report else None
    except (ValueError, KeyError, TypeError):
        file = storage.redact_location(layout.json_file(location, DETAILS, scope, record.name))
        raise IntermediateError(f"{file}: not the details of a merge") from None


def redact_settings(settings: Any) -> Any:
    """Return settings as JSON values: addresses redacted, and secrets masked, empty values omitted."""
    if is_dataclass(settings):
        values = {field.name: getattr(settings, field.name) for field in fields(settings)}
        return _mask(values)
    if isinstance(settings, Mapping):
        return _mask(settings)
    if isinstance(settings, list | tuple | set | frozenset):
        return [redact_settings(setting) for setting in settings]
    if settings is None or isinstance(settings, bool | int | float):
        return settings
    return redact(str(settings))


def _mask(values: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        str(key): MASK if names_secret(str(key)) else redact_settings(value)
        for key, value in values.items()
        if value not in (None, "", (), {}, [])
    }
