"""Validation of dbt's artifacts with a list of results: `run_results.json` and `sources.json`."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lineage_merge.infra.document_decoder import DocumentDecoder
from lineage_merge.infra.json_schema import Checker, load_schema
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError
from lineage_merge.naming import redact


@dataclass(frozen=True)
class ResultsSchema:
    """The schema of an artifact, and its supported versions.

    `file` is in this package. `name` is that of the artifact in errors, `url_name` in the addresses of dbt's
    schemas; `supported_text` has the versions in words.
    """

    file: str
    name: str
    url_name: str
    supported: frozenset[int]
    supported_text: str

    def check(self, location: str, document: Mapping[str, Any]) -> None:
        """Check the document without its results. Raises `DocumentError`, also for an unknown version."""
        results = document.get("results")
        without_results = {**document, "results": []} if isinstance(results, list) else document
        error = self._checkers[0].error(without_results)
        if error is not None:
            raise DocumentError(location, error.path, error.problem)
        version = document["metadata"]["dbt_schema_version"]
        match = self._version.fullmatch(version)
        if match is None or int(match[1]) not in self.supported:
            shown = redact(json.dumps(version, ensure_ascii=False))[:120]
            message = (
                f"{shown} is not a supported version of {self.name}: {self.supported_text} are supported"
            )
            raise DocumentError(location, "metadata.dbt_schema_version", message)

    def valid_results(
        self, location: str, results: list[Any], problems: list[Problem]
    ) -> Iterator[dict[str, Any]]:
        """Yield the valid results; a malformed one is added to `problems` (`rejected`)."""
        for index, result in enumerate(results):
            wrong = self._checkers[1].error(result)
            if wrong is None:
                yield result
            else:
                path = f"results[{index}].{wrong.path}".rstrip(".")
                problems.append(Problem("rejected", location, path, wrong.problem))

    @cached_property
    def _version(self) -> re.Pattern[str]:
        return re.compile(rf"https?://schemas\.getdbt\.com/dbt/{self.url_name}/v([0-9]{{1,4}})\.json")

    @cached_property
    def _checkers(self) -> tuple[Checker, DocumentDecoder]:
        """The validators of the document without its results, and of one result."""
        schema = load_schema(__package__, self.file)
        return Checker(schema), DocumentDecoder({"$defs": schema["$defs"], **schema["$defs"]["result"]})
