"""What the rounds of commands run: a command, its input, and the state of what it writes."""

import shutil
import socket
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml

from lineage_merge.infra.embedded.graph_store import read_tables, snapshot_folder
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.graph_files import GRAPH_FILE_VARIABLE
from lineage_merge.sources.query_log.logs.archive_layout import MARKERS, parse_interval
from lineage_merge.sources.query_log.logs.redshift_views import HISTORY
from tests.chaos.commands import Command
from tests.chaos.servers import OF_RUNS, Servers
from tests.graph_folder import write_folder
from tests.made_merges import Made
from tests.s3_fixtures import S3, serving
from tests.sources.query_log.log_reading import NAMESPACE, read_entries
from tests.sources.query_log.redshift_history import History
from tests.sources.query_log.redshift_standin import open_clusters


class Scenario(Protocol):
    """A command that changes a state. `written`: the local folder that it writes."""

    written: Path

    def reset(self) -> None:
        """Restore the state before the command."""

    def start(self) -> Command:
        """Start the command."""

    def state(self) -> Any:
        """Return the state."""

    def may_be(self, found: Any, start: Any, end: Any) -> bool:
        """Return whether a killed command may leave this state."""

    def close(self) -> None:
        """Release what the scenario holds."""


class FileScenario:
    """A command that replaces files atomically."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written = folder / "written"

    def may_be(self, found: Any, start: Any, end: Any) -> bool:
        """Return whether it is the state before or after the command."""
        return bool(found in (start, end))

    def close(self) -> None:
        """Hold nothing."""


class LoadScenario(FileScenario):
    """`load` of a changed pipeline into the embedded graph."""

    def __init__(self, folder: Path, servers: Servers) -> None:
        super().__init__(folder)
        self._graph = self.written / "graph"
        self._built = servers.built("after")
        self._start = folder / "start"
        self._load(servers.built("before")).end()
        self.written.rename(self._start)

    def reset(self) -> None:
        """Restore the graph of the pipeline before its changes."""
        shutil.rmtree(self.written, ignore_errors=True)
        shutil.copytree(self._start, self.written, symlinks=True)

    def start(self) -> Command:
        """Start the load."""
        return self._load(self._built)

    def _load(self, built: Path) -> Command:
        scope = ("--dag-name", "daily", "--environment", "dev", "--quiet")
        words = ("load", built, "--gremlin-endpoint", "embedded", *scope)
        return Command(*words, **{GRAPH_FILE_VARIABLE: str(self._graph)})

    def state(self) -> Any:
        """Return the rows of the graph, without properties that differ in each run."""
        return _graph(self._graph)


class DecisionScenario(FileScenario):
    """`near-misses accept --apply` of a configuration file."""

    _EAST, _WEST = "redshift://wh.us-east-1:5439", "redshift://wh.us-west-2:5439"

    def __init__(self, folder: Path, servers: Servers) -> None:
        del servers
        super().__init__(folder)
        self._file = self.written / "lineage_merge.yml"
        made = Made().job("spark", "load", {f"{self._EAST}|dev.public.event": ["s3://raw|event"]})
        reads = [f"{self._WEST}|dev.public.event"]
        made.job("dbt", "model.shop.report", {f"{self._WEST}|dev.mart.report": reads})
        self._built = write_folder(folder / "built", made.nodes.values(), made.edges.values())

    def reset(self) -> None:
        """Write the configuration before the decision."""
        shutil.rmtree(self.written, ignore_errors=True)
        self.written.mkdir()
        dbt = {"manifest": "target/manifest.json", "namespace": self._WEST}
        # Long, so that a write takes some time.
        comment = "# of the daily pipeline\n" * 20_000
        self._file.write_text(
            yaml.safe_dump({"dag_name": "daily", "environment": "dev", "dbt": [dbt]}) + comment
        )

    def start(self) -> Command:
        """Start the command, or its repetition, which lists what is left."""
        decision = ["accept", "public.event", "--apply"] if self._WEST in self.state() else []
        return Command("near-misses", *decision, "--config", self._file, "--folder", self._built)

    def state(self) -> Any:
        """Return the text of the file."""
        return self._file.read_text()


class ArchiveScenario(FileScenario):
    """`archive-history` of a cluster's statements of the last days, in S3."""

    def __init__(self, folder: Path, servers: Servers) -> None:
        del servers
        super().__init__(folder)
        self._open = ExitStack()
        listener = self._open.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        url = self._open.enter_context(serving(listener))
        patch = self._open.enter_context(pytest.MonkeyPatch.context())
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        self._addresses = {f"AWS_ENDPOINT_URL_{service}": url for service in ("S3", "REDSHIFT_DATA")}
        self._s3 = S3(url)
        self._open.callback(self._s3.close)
        open_clusters(self._s3, patch)["wh"].show(self._history())
        self._file = folder / "lineage_merge.yml"
        self._write_configuration()

    def _history(self) -> History:
        history = History(_at=datetime.now(UTC).replace(tzinfo=None) - timedelta(days=6))
        for day in range(6):
            history.session(day).run(f"insert into mart.t{day} (a) select b from raw.s{day}")
            history._at += timedelta(days=1)
        return history

    def _write_configuration(self) -> None:
        log = {
            "format": "redshift",
            "cluster": "wh",
            "database": "dw",
            "db_user": "lineage",
            "namespace": NAMESPACE,
            "region": "us-east-1",
            "archive": "s3://history/archive",
            "iam_role": "arn:aws:iam::111122223333:role/unload",
        }
        self._file.write_text(yaml.safe_dump({"query_log": [log]}))

    def reset(self) -> None:
        """Empty the bucket."""
        if "history" not in {each["Name"] for each in self._s3.client.list_buckets()["Buckets"]}:
            self._s3.client.create_bucket(Bucket="history")
        for key in self._keys():
            self._s3.client.delete_object(Bucket="history", Key=key)

    def start(self) -> Command:
        """Start the command."""
        return Command("archive-history", "--config", self._file, "--quiet", **self._addresses)

    def state(self) -> Any:
        """Return the lineage that the archive gives."""
        shutil.rmtree(self.written, ignore_errors=True)
        self.written.mkdir()
        keys = self._keys()
        if not keys:
            return set(), set(), set(), {}
        for key in keys:
            file = self.written / key
            file.parent.mkdir(parents=True, exist_ok=True)
            self._s3.client.download_file("history", key, str(file))
        entry = {"format": "redshift", "namespace": NAMESPACE, "path": str(self.written / "archive" / "wh")}
        found = read_entries(LocalEngine(), [entry])
        return found.feeds, found.columns, found.influences, found.runs

    def may_be(self, found: Any, start: Any, end: Any) -> bool:
        """Return whether nothing is wrong, and complete intervals have their statements."""
        names = [key.split("/")[2:] for key in self._keys()]
        complete = {parse_interval(name) for folder, name, *_ in names if folder == MARKERS}
        written = {parse_interval(name) for folder, name, *_ in names if folder == HISTORY}
        return bool(found[0] <= end[0] and complete <= written)

    def close(self) -> None:
        """Stop the services of AWS."""
        self._open.close()

    def _keys(self) -> list[str]:
        objects = self._s3.client.list_objects_v2(Bucket="history").get("Contents", [])
        return [each["Key"] for each in objects]


def _graph(folder: Path) -> dict[str, Any]:
    snapshot = snapshot_folder(folder)
    if snapshot is None:
        return {}
    volatile = {"first_seen", *(name for names in OF_RUNS.values() for name in names)}
    return {
        row["id"]: {name: value for name, value in row.items() if value is not None and name not in volatile}
        for table in read_tables(snapshot)
        for row in table.to_pylist()
        if row["label"] != "merge_state"
    }
