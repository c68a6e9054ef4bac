"""The document of a write: what Spline's agent would send for an analyzed plan. Nothing is run."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge import naming
from lineage_merge.model.elements import Authority, Dataset, Element, Problem, Reference
from lineage_merge.sources.spline.agent.plans import documents
from lineage_merge.sources.spline.documents import ROW_OPERATIONS, Document, Plan
from lineage_merge.sources.spline.translator import translate
from lineage_merge.spark_capture.plan import PlanDocument
from lineage_merge.spark_capture.session import JvmSession
from lineage_merge.spark_capture.targets import WriteTarget
from lineage_merge.spark_capture.write_commands import Written, describe_write, read_write


@dataclass(frozen=True, slots=True)
class WriteDocument:
    """A write of a plan.

    `document` has the form of producer API 1.2. Tables without a path have an address of their own
    (`naming.table_uri`): `tables` maps these addresses to the tables. `is_view`: the target is a view.
    `problems` are what the plan lacks; `document_name` is the document's name in problems.
    """

    document: Document
    tables: Mapping[str, Reference]
    document_name: str
    problems: tuple[Problem, ...] = ()
    is_view: bool = False

    @property
    def uri(self) -> str:
        """Return the address of the target."""
        return str(self.document["operations"]["write"]["outputSource"])

    @property
    def table(self) -> Reference | None:
        """Return the target, if it is a table without a path."""
        return self.tables.get(self.uri)

    @property
    def plan(self) -> Plan:
        """Return the document as the source `spline` reads it."""
        parts = {collection: tuple(values) for collection, values in documents(self.document).items()}
        return Plan(str(self.document["id"]), parts["executionPlan"][0], parts)

    def elements(self) -> Iterator[Element]:
        """Yield the lineage of the write. Pure: it needs no session."""
        yield from self.problems
        for element in translate(self.plan):
            if isinstance(element, Problem):
                own = f"executionPlan/{self.document['id']}"
                yield element._replace(document=element.document.replace(own, self.document_name))
            else:
                yield _referring(element, self.tables)
        if self.table and self.is_view:
            short = self.table.name.rpartition(".")[2]
            yield Dataset(self.table, Authority.BUILDER, "view", {"name": short})


def write_document(
    session: JvmSession, plan: Any, job: str, document_name: str, plan_id: str = "capture"
) -> WriteDocument | None:
    """Return the document of an analyzed plan that writes, as a statement or a `QueryExecution` has it.

    `job` is the application's name, `document_name` names the document in problems, `plan_id` is its id.
    Returns None if the plan is a query, or a command that writes no rows or is not supported. Raises
    `CaptureError` for a stream, and for a write whose target Spark does not report; `SourceError` if Spark
    cannot serialize the plan.
    """
    write = read_write(session, plan)
    return _document(session, write, job, document_name, plan_id) if write else None


def query_document(
    session: JvmSession, query: Any, target: WriteTarget, job: str, document_name: str
) -> WriteDocument:
    """Return the document of a write of the rows of a query; parameters as in `write_document`."""
    return _document(session, describe_write(session, query, target), job, document_name, "capture")


def _document(
    session: JvmSession, write: Written, job: str, document_name: str, plan_id: str
) -> WriteDocument:
    reader = PlanDocument(session, document_name)
    target, output = write.target, write.columns
    operation = _write(target)
    document = reader.document(write.query, output, operation, job, session.version, plan_id)
    columns, repeated = number_names(str(attribute.get("name")) for attribute in output)
    # The target table has its own column names, matched by position.
    if target.columns:
        _rename(document, target.columns)
    elif repeated and "output" not in target.params.get("table", {}):
        _rename(document, columns)
        what = f"duplicate column names, numbered in the graph: {', '.join(repeated)}"
        reader.problems.append(Problem("notice", document_name, "columns", what))
    tables = dict(reader.tables)
    if target.table and not target.uri:
        tables[operation["outputSource"]] = target.table
    return WriteDocument(document, tables, document_name, tuple(reader.problems), target.is_view)


def _write(into: WriteTarget) -> Document:
    extra = {"destinationType": into.data_format} if into.data_format else {}
    name = {"name": ROW_OPERATIONS[into.row_operation]} if into.row_operation else {}
    table = into.table
    uri = into.uri or (naming.table_uri(table.namespace, table.name) if table else "")
    return {**name, "outputSource": uri, "append": into.append, "params": dict(into.params), "extra": extra}


def _rename(document: Document, columns: tuple[str, ...]) -> None:
    """Set the names of the written columns, as a DataSource V2 table lists its own."""
    listed = [f"{column}#{position}" for position, column in enumerate(columns)]
    params = document["operations"]["write"]["params"]
    params["table"] = {**params.get("table", {}), "output": listed}


def _referring(element: Element, tables: Mapping[str, Reference]) -> Element:
    """Return the element with tables in place of their addresses."""
    changed: Any = {
        name: tables[value.name]
        for name, value in element._asdict().items()
        if isinstance(value, Reference) and not value.namespace and value.name in tables
    }
    return element._replace(**changed)


def number_names(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make names unique without case; also return those that were changed.

    ``a, A, b`` are ``a, A_2, b``: the graph compares column names without case.
    """
    given = tuple(names)
    taken = {name.lower() for name in given}
    seen: set[str] = set()
    chosen: list[str] = []
    for name in given:
        new, number = name, 1
        while new.lower() in seen or (number > 1 and new.lower() in taken):
            number += 1
            new = f"{name}_{number}"
        seen.add(new.lower())
        chosen.append(new)
    return tuple(chosen), tuple(new for new, name in zip(chosen, given, strict=True) if new != name)
