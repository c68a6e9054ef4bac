"""The report and the configuration of a merge, without secrets."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from lineage_merge.config import Config
from lineage_merge.history import layout
from lineage_merge.history.layout import DagScope
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.infra import storage
from lineage_merge.infra.redaction import MASK, names_secret, redact
from lineage_merge.merge.report import Report
from lineage_merge.model.errors import IntermediateError


def write_details(file: str, report: Report | None, config: Config) -> None:
    """Write the report and the configuration of a merge."""
    values = {
        "report": _redacted(report) if report else None,
        "configuration": without_secrets(config),
    }
    storage.create_file(file, json.dumps(values, ensure_ascii=False, indent=2) + "\n")


def _redacted(report: Report) -> dict[str, Any]:
    shown = report.as_json()
    for problem in shown["problems"]:
        problem["document"], problem["message"] = redact(problem["document"]), redact(problem["message"])
    return shown


def read_report(location: str, scope: DagScope, record: MergeRecord) -> Report | None:
    """Return the report of a merge; of one that changed nothing that of the merge which it repeats."""
    names = [each for each in (record.name, record.runs, record.entry) if each]
    texts = storage.read_texts([layout.details_file(location, scope, name) for name in names])
    text = next((each for each in texts if each is not None), None)
    if text is None:
        return None
    try:
        report = json.loads(text)["report"]
        return Report.from_json(report) if report else None
    except (ValueError, KeyError, TypeError):
        file = storage.shown(layout.details_file(location, scope, record.name))
        raise IntermediateError(f"{file}: not the details of a merge") from None


def without_secrets(settings: Any) -> Any:
    """Return settings as JSON values: addresses redacted, and secrets masked, empty values omitted."""
    if is_dataclass(settings):
        values = {field.name: getattr(settings, field.name) for field in fields(settings)}
        return _masked(values)
    if isinstance(settings, Mapping):
        return _masked(settings)
    if isinstance(settings, list | tuple | set | frozenset):
        return [without_secrets(setting) for setting in settings]
    if settings is None or isinstance(settings, bool | int | float):
        return settings
    return redact(str(settings))


def _masked(values: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        str(key): MASK if names_secret(str(key)) else without_secrets(value)
        for key, value in values.items()
        if value not in (None, "", (), {}, [])
    }
