"""Lineage as Python objects: the same questions and answers as on the command line."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast, get_type_hints

from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.query.selection import GraphSelection, default_config, selection_of
from lineage_merge.query.session import Session, open_session
from lineage_merge.questions.assertions import AssertionsQuestion
from lineage_merge.questions.check import CheckQuestion
from lineage_merge.questions.comparison import CompareQuestion
from lineage_merge.questions.cycles import CyclesQuestion
from lineage_merge.questions.dataset_search import DatasetsQuestion
from lineage_merge.questions.diff import DiffQuestion
from lineage_merge.questions.freshness import FreshnessQuestion
from lineage_merge.questions.impact import ImpactQuestion
from lineage_merge.questions.layers import LayersQuestion
from lineage_merge.questions.lineage import DownstreamQuestion, PathQuestion, UpstreamQuestion
from lineage_merge.questions.listing import JobsQuestion, NoConsumerQuestion, NoProducerQuestion
from lineage_merge.questions.merge_history import MergesQuestion, TimelineQuestion
from lineage_merge.questions.merge_report import NearMissesQuestion, ReportQuestion
from lineage_merge.questions.ownership import OwnersQuestion
from lineage_merge.questions.question import Question, ask, parameters_of
from lineage_merge.questions.result import Result
from lineage_merge.questions.scoped_graph import GraphScope
from lineage_merge.questions.tags import TagsQuestion
from lineage_merge.questions.usage import UsageQuestion
from lineage_merge.questions.why import WhyQuestion

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.graph_format.elements import Vertex
    from lineage_merge.questions.graph import LineageGraph


_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer", bound=Result)


def method(
    question: Callable[_Given, Question[_Answer]],
) -> Callable[Concatenate["Lineage", _Given], _Answer]:
    """Return the method of `Lineage` that asks a question, with its parameters and documentation."""

    def answer(self: "Lineage", /, *positional: _Given.args, **named: _Given.kwargs) -> _Answer:
        return ask(question(*positional, **named), self._session)

    declared = cast("type[Question[_Answer]]", question)
    hints = get_type_hints(declared)
    parameters = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(declared).parameters.values()
    ]
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    answer.__signature__ = inspect.Signature([itself, *parameters])  # type: ignore[attr-defined]
    answer.__name__ = declared.question.replace("-", "_")
    answer.question = declared  # type: ignore[attr-defined]
    answer.__qualname__ = f"Lineage.{answer.__name__}"
    lines = [
        f"{described.name}: {described.parameter.help}"
        for described in parameters_of(declared)
        if described.parameter.help
    ]
    answer.__doc__ = "\n".join([inspect.getdoc(declared) or "", "", *lines])
    return answer


class Lineage:
    """An open graph that answers questions. It is a context manager; `close` ends its connections.

    Names of datasets, columns (``dataset#column``) and jobs are resolved as on the command line: a unique
    short or qualified name, ``namespace|name``, a URI, or an id. Methods raise `NotFound` and `Ambiguous` for
    names, and `GraphError` if the graph is unreachable.
    """

    # The questions, one line each.
    datasets = method(DatasetsQuestion)
    jobs = method(JobsQuestion)
    upstream = method(UpstreamQuestion)
    downstream = method(DownstreamQuestion)
    path = method(PathQuestion)
    impact = method(ImpactQuestion)
    owners = method(OwnersQuestion)
    usage = method(UsageQuestion)
    no_consumer = method(NoConsumerQuestion)
    no_producer = method(NoProducerQuestion)
    cycles = method(CyclesQuestion)
    layers = method(LayersQuestion)
    tags = method(TagsQuestion)
    check = method(CheckQuestion)
    freshness = method(FreshnessQuestion)
    tests = method(AssertionsQuestion)
    why = method(WhyQuestion)
    diff = method(DiffQuestion)
    compare = method(CompareQuestion)
    merges = method(MergesQuestion)
    history = method(TimelineQuestion)
    report = method(ReportQuestion)
    near_misses = method(NearMissesQuestion)

    def __init__(self, session: Session, on_close: Callable[[], None] = lambda: None) -> None:
        self._session = session
        self._on_close = on_close

    @property
    def environments(self) -> list[str]:
        """The environments of the graph, sorted."""
        return self._session.graph.environments()

    def resolve(self, name: str) -> "Vertex":
        """Return the dataset, column or job of a name. Raises `NotFound`, `Ambiguous`."""
        return self._session.element(name)

    @classmethod
    def open(
        cls,
        location: "str | Path | Config | None" = None,
        *,
        config: "str | Path | Config | None" = None,
        environment: str | None = None,
        dag: str | None = None,
        as_of: str | date | None = None,
        history: str = "",
        demo: bool = False,
        on_progress: ProgressCallback = no_progress,
    ) -> "Lineage":
        """Open a graph.

        `location`: an endpoint (``wss://...``, ``embedded``), a folder of `build` (local or ``s3://``), the
        file of an embedded graph, or a configuration (``.yml``, ``.yaml``); None: the graph that `config` and
        environment variables set, by default the embedded one. `environment`, `dag`: the scope of all
        questions, by default the environment of the configuration and all DAGs. `as_of`: ``now``, a date,
        time, age (``3d``) or merge of the history at `history`. `demo`: the graph of `lineage-merge demo`.

        Raises `ConfigError`, `GraphError`, `EmbeddedError`, `IntermediateError`, `SourceError`, `NotFound`.
        """
        moment = as_of.isoformat() if isinstance(as_of, date) else as_of
        selection = selection_of(
            location,
            config=config,
            environment=environment,
            dag=dag,
            as_of=moment,
            history=history,
            demo=demo,
        )
        resources = ExitStack()
        session = resources.enter_context(open_session(selection, on_progress))
        return cls(session, resources.close)

    @classmethod
    def of_graph(
        cls,
        graph: "LineageGraph",
        config: "Config | None" = None,
        *,
        environment: str | None = None,
        dag: str | None = None,
    ) -> "Lineage":
        """Return the interface of a graph that is already open.

        `environment`: by default that of `config`; the history is that of `config`, too. Without `config` the
        defaults apply; environment variables, which are about another graph, have no effect.
        """
        from lineage_merge.config import NO_HISTORY

        selection = GraphSelection(file=config, environment=environment, dag=dag)
        settings, environment = selection.config() if config else (default_config(environment), environment)
        # The history beside the user's embedded graph is that of another graph.
        location = settings.history.location or NO_HISTORY
        settings = replace(settings, history=replace(settings.history, location=location))
        return cls(Session(graph, GraphScope(environment, dag), settings, selection=selection))

    def close(self) -> None:
        """Close the connections."""
        self._on_close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()


# By name, in the order of the class: commands and tools are derived from them, too.
QUESTIONS: Mapping[str, type[Question[Any]]] = {
    member.question.question: member.question
    for member in vars(Lineage).values()
    if hasattr(member, "question")
}
