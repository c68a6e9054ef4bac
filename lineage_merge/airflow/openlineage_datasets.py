"""Inputs and outputs of the tasks of a merge, as OpenLineage datasets. Imports no Airflow."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from lineage_merge.config import Config

# A namespace and a name.
Dataset = tuple[str, str]


class TaskDatasets(NamedTuple):
    """The inputs and outputs of a task."""

    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]

    @classmethod
    def from_pairs(cls, inputs: Iterable[Sequence[str]], outputs: Iterable[Sequence[str]]) -> "TaskDatasets":
        """Restore pairs from JSON."""
        return cls(tuple((a, b) for a, b in inputs), tuple((a, b) for a, b in outputs))


def list_step_datasets(step: str, config: "Config", folder: str) -> TaskDatasets:
    """Return inputs and outputs of a build, a load or a check: sources, folder, graph."""
    files = tuple(_name_datasets([folder]))
    if step == "build":
        return TaskDatasets(tuple(sorted({*sources(config)})), files)
    if step == "check":
        return TaskDatasets((graph(config),), ())
    return TaskDatasets(files, (graph(config),))


def sources(config: "Config") -> Iterator[Dataset]:
    """Yield the sources of a merge: files, topics, and databases."""
    from lineage_merge.sources import registry
    from lineage_merge.sources.kafka_landing import broker_check

    for source, settings in registry.list_configured(config):
        yield from _name_datasets(file for file in source.files(settings) if file)
        support = source.airflow()
        database = support.database(settings) if support else None
        if database:
            yield database
    for kafka in broker_check.list_topics(config):
        yield f"kafka://{kafka.servers.partition(',')[0].strip()}", kafka.topic


def graph(config: "Config") -> Dataset:
    """Return the part of the graph that a merge owns."""
    name = f"{config.environment}/{config.dag_name}"
    if "://" not in config.gremlin.endpoint:
        return "gremlin://embedded", name
    return f"gremlin://{_host(config.gremlin.endpoint, 8182)}", name


def folder_dataset(folder: str) -> TaskDatasets:
    """Return a folder as the only input, for the report."""
    return TaskDatasets(tuple(_name_datasets([folder])), ())


def _host(url: str, default_port: int) -> str:
    """Return host and port of a URL, without user and password."""
    parts = urlsplit(url)
    return f"{parts.hostname or ''}:{parts.port or default_port}"


def _name_datasets(locations: Iterable[str]) -> Iterator[Dataset]:
    from lineage_merge.model.errors import NamingError
    from lineage_merge.naming import name_uri

    for location in locations:
        try:
            named = name_uri(location if "://" in location else f"file:{location}")
        except NamingError:
            continue
        yield named.name.namespace, named.name.name


def facets(datasets: TaskDatasets) -> Any:
    """Return the datasets for the OpenLineage provider; None if it is not installed."""
    try:
        from airflow.providers.openlineage.extractors import OperatorLineage
        from openlineage.client.event_v2 import Dataset as NamedDataset
    except ImportError:
        return None
    return OperatorLineage(
        inputs=[NamedDataset(namespace=namespace, name=name) for namespace, name in datasets.inputs],
        outputs=[NamedDataset(namespace=namespace, name=name) for namespace, name in datasets.outputs],
    )


class TaskWithDatasets:
    """A task whose run sets `_datasets`, its inputs and outputs for the OpenLineage provider."""

    _datasets = TaskDatasets((), ())

    def get_openlineage_facets_on_complete(self, _task_instance: Any) -> Any:
        """Return the datasets for the OpenLineage provider."""
        return facets(self._datasets)
