"""The graph of the demo: TICKIT, and a company with two weeks of history, at times relative to now.

The company's folder has the sources of one day, and in `before/N_days` the files that were different N days
ago; what was different later was different then, too.
"""

import json
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from lineage_merge.config import Config
from lineage_merge.graph_format.schema import Row
from lineage_merge.history.layout import DagScope, MergeName, history_location
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.recording import record_merge
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.load.graph_state import Picture
from lineage_merge.load.result import LoadResult
from lineage_merge.merge.report import Report
from lineage_merge.model.errors import ConfigError
from lineage_merge.model.times import epoch_ms
from lineage_merge.model.version import __version__
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION

_CONFIGURATION = "lineage_merge.yml"
_SOURCES = "sources"
# When the sources were recorded, and the days of the history.
_MOMENTS = "moments.json"
_ISO = re.compile(r"(?<!\d)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?!\d)")
# 2023 to 2036 in ms since 1970.
_EPOCH_MS = re.compile(r"(?<![\w.-])(?:1[7-9]|20)\d{11}(?![\w.-])")


class Merged(NamedTuple):
    """A merge of the demo: its report, and what the load wrote."""

    report: Report
    loaded: LoadResult


def build_demo(tickit: Path, company: Path, graph_file: Path, on_progress: ProgressCallback) -> Merged:
    """Merge both pipelines into the embedded graph, and write their history; return the company's merge.

    `tickit`: a configuration; `company`: a folder. The history of an earlier demo is replaced.
    """
    now = datetime.now(UTC)
    with TemporaryDirectory(prefix="lineage-merge-demo-") as work:
        moments = [*_moments(company, Path(work), now)]
        unchanging, *configs = (
            CONFIGURATION.load(file, environ={}) for file in (tickit, *(step.config_file for step in moments))
        )
        history = history_location(unchanging, graph_file)
        if not history:
            raise ConfigError("", "the demo has a history. Fix: install lineage-merge[local], for pyarrow")
        shutil.rmtree(history, ignore_errors=True)
        recorded: _Elements = {}
        for config, moment in zip(configs[:-1], moments, strict=False):
            on_progress(f"merging the sources of {moment.days} days ago")
            with pipeline.build(None, config) as built:
                recorded = _record(built, config, history, moment.time, recorded)
        newest: list[tuple[Config, int, _Elements]] = [
            (unchanging, moments[0].time, {}),
            (configs[-1], moments[-1].time, recorded),
        ]
        target = pipeline.graph_of(unchanging, graph_file)
        for config, time, before in newest:
            with pipeline.build(None, config, on_progress) as built:
                _record(built, config, history, time, before)
                loaded = pipeline.load_graph(built, config, target, on_progress)
        return Merged(built.report, loaded)


_Elements = Mapping[str, Row]


def _record(built: pipeline.Built, config: Config, history: str, time: int, before: _Elements) -> _Elements:
    """Add a merge to the history; return its elements by id, as `before` has those of the one before."""
    picture = Picture(built.nodes, built.edges)
    elements = {row["id"]: row for rows in picture for row in rows.collect()}
    record = MergeRecord(
        name=MergeName(time, uuid.uuid4().hex[:12]),
        kind="full",
        entry=None,
        merged_at=time,
        added=len(elements.keys() - before.keys()),
        changed=sum(row != before[id_] for id_, row in elements.items() if id_ in before),
        retired=len(before.keys() - elements.keys()),
        version=__version__,
    )
    record_merge(
        history, DagScope(config.environment, config.dag_name), record, picture, config, built.report
    )
    return elements


class _Moment(NamedTuple):
    """A day of the company: how long ago, in ms since 1970, and the configuration of its sources."""

    days: int
    time: int
    config_file: Path


def _moments(company: Path, work: Path, now: datetime) -> Iterator[_Moment]:
    """Write the sources of each moment below `work`; yield the moments, oldest first."""
    story = json.loads((company / _MOMENTS).read_text())
    recorded_at = datetime.fromisoformat(story["recorded_at"])
    for days in story["days_ago"]:
        folder = work / str(days)
        by = now - recorded_at - timedelta(days=days)
        _copy_shifted(company / _SOURCES, folder / _SOURCES, by)
        for later in sorted(day for day in story["days_ago"] if 0 < day <= days):
            _copy_shifted(company / f"before/{later}_days", folder / _SOURCES, by)
        shutil.copy(company / _CONFIGURATION, folder)
        yield _Moment(days, epoch_ms(now - timedelta(days=days)), folder / _CONFIGURATION)


def _copy_shifted(source: Path, target: Path, by: timedelta) -> None:
    """Copy the files of a folder with their times moved; replaces existing files."""
    for file in filter(Path.is_file, source.rglob("*")):
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(shift_times(file.read_text(), by))


def shift_times(text: str, by: timedelta) -> str:
    """Return a text with its times, ISO 8601 and ms since 1970, moved by whole seconds. Pure."""
    by = timedelta(seconds=by // timedelta(seconds=1))
    milliseconds = by // timedelta(milliseconds=1)
    # Fractions of a second and the time zone follow the seconds, and stay.
    text = _ISO.sub(lambda at: (datetime.fromisoformat(at[0]) + by).isoformat(), text)
    return _EPOCH_MS.sub(lambda at: str(int(at[0]) + milliseconds), text)
