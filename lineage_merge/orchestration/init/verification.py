"""Verification of a configuration: small sources are translated and joined in this process, without Spark."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lineage_merge.config import Config
from lineage_merge.graph_format.schema import DATASET_LABELS, SEMANTIC_LABELS, Row
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.merge.report import EMPTY, Report
from lineage_merge.merge.report_builder import SAME_NAME
from lineage_merge.model.errors import InputTooLarge
from lineage_merge.model.graph_walks import reachable
from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.read_sources import input_bytes, list_configured_sources

# Kinds of problems that explain why datasets are not joined, the most specific first.
_REASONS = ("not-joined", "no-producer", "no-consumer")
_MAX_REASONS = 6
_MAX_REJECTED = 3
_WITHOUT_ROWS = frozenset({"exposure", *SEMANTIC_LABELS})


@dataclass(frozen=True, slots=True)
class Verified:
    """The outcome of a merge in this process. `dataset`: a name to ask about, "" for an empty graph.

    `shared`: number of datasets of several kinds of jobs. `reasons` say why there is
    none. `is_read` False: the input is too large for this process.
    """

    is_read: bool = True
    report: Report = EMPTY
    shared: int = 0
    reasons: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    dataset: str = ""
    datasets: int = 0


def verify(config: Config, on_progress: ProgressCallback = no_progress) -> Verified:
    """Read and merge all sources if they are small. Raises `SourceError`."""
    limit = config.spark.distribute_above_mb << 20
    size = input_bytes(config)
    if size is None or size > limit:
        return Verified(is_read=False)
    try:
        report, elements = read_sources.merge(config, on_progress)
    except InputTooLarge:
        return Verified(is_read=False)
    rows = elements.collect()
    shared = dict(report.joined).get(SAME_NAME, 0)
    return Verified(
        report=report,
        shared=shared,
        reasons=() if shared else _why_not_joined(config, report),
        rejected=tuple(
            ": ".join(filter(None, (problem.document, problem.field, problem.message)))
            for problem in report.select_kind("rejected")[:_MAX_REJECTED]
        ),
        dataset=_dataset_to_ask_about(rows),
        datasets=sum(row["label"] in DATASET_LABELS for row in rows),
    )


def _why_not_joined(config: Config, report: Report) -> tuple[str, ...]:
    """Return why nothing is joined, as far as known."""
    sources = list_configured_sources(config)
    if len(sources) < 2:
        return (f"{sources[0].name} is the only source: there is nothing to join it with",)
    problems = [problem for kind in _REASONS for problem in report.select_kind(kind)]
    return tuple(f"{problem.document}: {problem.message}" for problem in problems[:_MAX_REASONS])


def _dataset_to_ask_about(rows: Iterable[Row]) -> str:
    """Return the name of a dataset at the end of a path through most kinds of jobs and datasets."""
    datasets: dict[str, Row] = {}
    inputs: dict[str, set[str]] = defaultdict(set)
    kinds: dict[str, set[str]] = defaultdict(set)
    consumed: set[str] = set()
    for row in rows:
        if row["label"] in DATASET_LABELS:
            datasets[row["id"]] = row
        elif row["label"] == "feeds":
            inputs[row["to"]].add(row["from"])
            kinds[row["to"]].add(row["job_type"])
    exposures = {key for key, row in datasets.items() if row["label"] in _WITHOUT_ROWS}
    for target, sources in inputs.items():
        if target not in exposures:
            consumed |= sources
    ends = [key for key in datasets if key in inputs and key not in consumed | exposures]
    if not ends:
        ends = [key for key in datasets if key not in exposures]
    if not ends:
        return ""
    best = min(ends, key=lambda key: (*(-number for number in _reach(key, inputs, kinds)), key))
    return _short_name(best, datasets)


def _reach(start: str, inputs: Mapping[str, set[str]], kinds: Mapping[str, set[str]]) -> tuple[int, int]:
    """Return the number of job types and of datasets upstream."""
    datasets = reachable([start], inputs)
    return len({job_type for dataset in datasets for job_type in kinds.get(dataset, ())}), len(datasets)


def _short_name(dataset: str, datasets: Mapping[str, Row]) -> str:
    """Return the shortest name of a dataset that is unique."""
    row = datasets[dataset]
    for key in ("name", "qualified_name"):
        names = Counter(properties.get(key) for properties in datasets.values())
        if row.get(key) and names[row[key]] == 1:
            return str(row[key])
    return dataset
