"""Small databases of Spline, as its server writes them: a plan a call, files or collections out.

::

    spline = SplineDatabase()
    spline.plan("ingest", reads=["s3://raw/sales"], writes="s3://staging/sales", at=1)
    spline.plan("ingest", reads=["s3://raw/sales"], writes="s3://staging/sales", at=25, error="lost")
    spline.write(tmp_path)                          # one file a collection
    server.database("spline", spline.collections)   # or into ArangoDB

Times are hours after `START`.
"""

import gzip
import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

Document = dict[str, Any]

# 2026-01-01, in ms.
START = 1_767_225_600_000
HOUR_MS = 3_600_000
DAY = 24.0
# Keys of `txInfo` are the server's own: no transaction's id is its number.
FIRST_ENTRY = 7_000_000


def time(at: float) -> int:
    """The moment `at` hours after the start, in ms since 1970."""
    return START + round(at * HOUR_MS)


def table_structure(
    database: str, name: str, catalog: str | None = None, kind: str | None = None
) -> Document:
    """`params.table` as a structure: how Spline keeps a table that is read or inserted into."""
    identifier = {"table": name, "database": database} | ({"catalog": catalog} if catalog else {})
    return {"identifier": identifier, "storage": "Storage()"} | ({"tableType": kind} if kind else {})


def table_text(
    database: str, name: str, catalog: str = "spark_catalog", kind: str = "MANAGED", rest: str = ""
) -> str:
    """`params.table` as text: how Spline keeps a table that is being created."""
    lines = [f"Catalog: {catalog}"] if catalog else []
    lines += [f"Database: {database}"] if database else []
    lines += [
        f"Table: {name}",
        "Created Time: Sat Nov 21 09:22:28 UTC 2026",
        f"Type: {kind}",
        "Provider: parquet",
        *([rest] if rest else []),
        "Schema: root",
        " |-- a: integer (nullable = true)",
    ]
    return "CatalogTable(\n" + "\n".join(lines) + "\n)"


@dataclass(frozen=True)
class Read:
    """A read operation: several locations where one reads several, and the catalog's table."""

    sources: Sequence[str]
    format: str | None = "parquet"
    table: Document | str | None = None
    name: str = "LogicalRelation"


@dataclass
class SplineDatabase:
    """Collections that fill with each call. Keys are the same each time the same calls are made."""

    name: str = "spline"
    contents: dict[str, list[Document]] = field(default_factory=lambda: defaultdict(list))
    _plans: int = 0
    _transactions: int = 500
    _later: int = 0
    _edges: int = 10_000

    @property
    def collections(self) -> Mapping[str, list[Document]]:
        """Return the documents by collection, without empty collections."""
        return dict(self.contents)

    def plan(
        self,
        application: str | None,
        *,
        reads: Iterable[str | Read] = (),
        writes: str | None = None,
        at: float | None = 0,
        run: str | None = None,
        append: bool = False,
        error: Any = None,
        minutes: float = 1,
        rows: int | None = None,
        table: Document | str | None = None,
        created_table: str | None = None,
        format: str | None = "parquet",  # noqa: A002 (what a person calls it)
        command: str = "InsertIntoHadoopFsRelationCommand",
        subqueries: Iterable[str] = (),
        views: Iterable[str] = (),
        transaction: str | None = None,
        created: float | None = None,
    ) -> str:
        """A plan, and its execution that ended `at` (None: none yet). Returns its key.

        `created_table` is the text of the table in the command below a CREATE TABLE, `subqueries`
        are the texts of subqueries' plans, `views` names of temporary views between write and reads.
        """
        key = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.name}/{self._plans}"))
        self._plans += 1
        made = time((created if created is not None else at) or 0)
        common = {"_created": made, "_txInfo": self._information(transaction)}
        self._add(
            "executionPlan",
            {
                "_key": key,
                **({} if application is None else {"name": application}),
                "labels": {},
                "systemInfo": {"name": "spark", "version": "3.5.9"},
                "agentInfo": {"name": "spline", "version": "2.2.0"},
                "extra": {} if application is None else {"appName": application},
                **common,
            },
        )
        chain: list[Document] = []
        if writes is not None:
            chain.append(
                {
                    "outputSource": writes,
                    "append": append,
                    "name": command,
                    "params": {"table": table} if table else {"path": writes},
                    "extra": {"destinationType": format} if format else {},
                    "type": "Write",
                }
            )
        if created_table is not None:
            chain.append(_transformation(command, {"table": created_table, "ignoreIfExists": True}))
        filters = list(subqueries)
        if filters:
            chain.append(_transformation("Filter", {"condition": {"__exprId": "expr-0"}}))
        for view in views:
            text = f"CatalogTable(\nTable: {view}\nType: VIEW\n)"
            chain.append(_transformation("View", {"desc": text, "isTempView": True}))
        leaves = [_read(each) for each in reads]
        if len(leaves) > 1 or not chain:
            chain.append(_transformation("Join", {"joinType": "INNER"}))
        operations = [*chain, *leaves]
        ids = [f"operation/{key}:op-{number}" for number in range(len(operations))]
        for name, operation in zip(ids, operations, strict=True):
            self._part("operation", key, common, _key=name.partition("/")[2], **operation)
        for above, below in pairwise(ids[: len(chain)]):
            self._edge("follows", key, common, above, below, index=0)
        for index, below in enumerate(ids[len(chain) :]):
            self._edge("follows", key, common, ids[len(chain) - 1], below, index=index)
        if filters:
            self._subqueries(
                key,
                common,
                next(name for name, each in zip(ids, operations, strict=True) if each["name"] == "Filter"),
                filters,
            )
        if at is not None and writes is not None:
            self.ended(key, at, run=run, error=error, minutes=minutes, rows=rows)
        return key

    def ended(
        self,
        plan: str,
        at: float,
        *,
        run: str | None = None,
        error: Any = None,
        minutes: float = 1,
        rows: int | None = None,
        transaction: str | None = None,
        **changed: Any,
    ) -> Document:
        """One more execution of a plan; the `progress` document, to be damaged at will."""
        header = next((each for each in self.contents["executionPlan"] if each["_key"] == plan), {})
        write = next(
            (
                each
                for each in self.contents["operation"]
                if each["type"] == "Write" and each["_belongsTo"] == f"executionPlan/{plan}"
            ),
            {},
        )
        number = len(self.contents["progress"])
        document = {
            "_key": f"{plan}:e{number}",
            "planKey": plan,
            "timestamp": time(at),
            "durationNs": round(minutes * 60e9),
            "labels": {},
            "extra": {
                "appId": run or f"application-{number}",
                "readMetrics": {},
                "writeMetrics": {} if rows is None else {"numOutputRows": rows},
            },
            "_created": time(at),
            "execPlanDetails": {
                "executionPlanKey": plan,
                "frameworkName": "spark 3.5.9",
                "applicationName": header.get("name"),
                "dataSourceUri": write.get("outputSource", "s3://lost/target"),
                "dataSourceType": (write.get("extra") or {}).get("destinationType"),
                "labels": {},
                "append": write.get("append", False),
            },
            "_txInfo": self._information(transaction),
            **({} if error is None else {"error": error}),
            **changed,
        }
        return self._add("progress", document)

    def begin(self) -> str:
        """A transaction that is not committed: its id, to be given to `plan` or `ended`."""
        uid = self._transaction()
        self._add("txInfo", {"_key": uid})
        return uid

    def later(self) -> str:
        """A transaction that is committed, and began after `counter` and `txInfo` were read: its id."""
        self._later += 1
        return str(FIRST_ENTRY + 1_000_000 + self._later)

    def part(self, collection: str, key: str) -> Document:
        """The document of a collection whose key begins so: to be changed."""
        return next(each for each in self.contents[collection] if each["_key"].startswith(key))

    def write(self, folder: Path, format: str = "jsonl") -> Path:  # noqa: A002
        """Export all collections into a folder, in one of `FORMATS`. Returns the folder."""
        return write_collections(self.contents, folder, format)

    def _transaction(self) -> str:
        """The id of one more transaction: the key that its entry in `txInfo` has until the commit."""
        self._transactions += 1
        if not self.contents["counter"]:
            self._add("counter", {"_key": "tx"})
        self.contents["counter"][0]["curVal"] = self._transactions
        return str(FIRST_ENTRY + self._transactions)

    def _information(self, transaction: str | None) -> Document:
        uid = transaction or self._transaction()
        return {"num": int(uid) - FIRST_ENTRY, "uid": uid, "params": {}}

    def _add(self, collection: str, document: Document) -> Document:
        found = {"_id": f"{collection}/{document['_key']}", "_rev": "_h1", **document}
        self.contents[collection].append(found)
        return found

    def _part(self, collection: str, plan: str, common: Document, **fields: Any) -> None:
        self._add(collection, {**fields, "_belongsTo": f"executionPlan/{plan}", **common})

    def _edge(self, kind: str, plan: str, common: Document, start: str, end: str, **fields: Any) -> None:
        self._edges += 1
        self._part(kind, plan, common, _key=str(self._edges), _from=start, _to=end, **fields)

    def _subqueries(self, key: str, common: Document, operation: str, texts: list[str]) -> None:
        """The condition of a filter: an AND that takes the subqueries, which only edges lead to."""
        names = [f"expression/{key}:expr-{number}" for number in range(len(texts) + 1)]
        self._part("expression", key, common, _key=f"{key}:expr-0", name="and", type="Func", params={})
        self._edge("uses", key, common, operation, names[0], path="$['params']['condition']")
        for index, (name, text) in enumerate(zip(names[1:], texts, strict=True)):
            self._part(
                "expression",
                key,
                common,
                _key=name.partition("/")[2],
                name="listquery",
                type="Func",
                params={"plan": text},
            )
            self._edge("takes", key, common, names[0], name, index=index)


def _transformation(name: str, params: Document) -> Document:
    return {"name": name, "params": params, "extra": {}, "type": "Transformation"}


def _read(read: str | Read) -> Document:
    each = Read([read]) if isinstance(read, str) else read
    params = {"table": each.table} if each.table else {"path": each.sources[0]} if each.sources else {}
    extra = {"sourceType": each.format} if each.format else {}
    return {
        "inputSources": list(each.sources),
        "name": each.name,
        "params": params,
        "extra": extra,
        "type": "Read",
    }


Documents = Sequence[Mapping[str, Any]]


def lines(documents: Documents) -> bytes:
    """One document a line."""
    return "".join(json.dumps(each) + "\n" for each in documents).encode()


def array(documents: Documents) -> bytes:
    """A JSON array without any space."""
    return json.dumps(documents, separators=(",", ":")).encode()


def pretty_array(documents: Documents) -> bytes:
    """A JSON array as a person formats it."""
    return json.dumps(documents, indent=2).encode()


def array_of_lines(documents: Documents) -> bytes:
    """A JSON array with a document a line, as arangoexport writes it."""
    return b"[\n  " + b",\n  ".join(json.dumps(each).encode() for each in documents) + b"\n]\n"


def _dump(documents: Documents) -> bytes:
    return lines([{"type": 2300, "data": each} for each in documents])


def _spaced(documents: Documents) -> bytes:
    return b"\xef\xbb\xbf\r\n" + lines(documents).replace(b"\n", b"\r\n\r\n")


_HASH = "d41d8cd98f00b204e9800998ecf8427e"

# How a collection's file is called after its collection, and how its documents are written.
FORMATS: Mapping[str, tuple[str, Callable[[Documents], bytes]]] = {
    "jsonl": (".jsonl", lines),
    "ndjson": (".ndjson", lines),
    "json": (".json", array),
    "pretty": (".json", pretty_array),
    "arangoexport": (".json", array_of_lines),
    "lines in .json": (".json", lines),
    "jsonl.gz": (".jsonl.gz", lambda documents: gzip.compress(lines(documents))),
    "json.gz": (".json.gz", lambda documents: gzip.compress(array_of_lines(documents))),
    "arangodump": (f"_{_HASH}.data.json.gz", lambda documents: gzip.compress(lines(documents))),
    "arangodump with envelopes": (f"_{_HASH}.data.json", _dump),
    "byte order mark and blank lines": (".jsonl", _spaced),
    "byte order mark before an array": (".json", lambda documents: b"\xef\xbb\xbf" + array(documents)),
}


def write_collections(contents: Mapping[str, Documents], folder: Path, format: str = "jsonl") -> Path:  # noqa: A002
    """One file a collection, in one of `FORMATS`. Returns the folder."""
    ending, written = FORMATS[format]
    folder.mkdir(parents=True, exist_ok=True)
    for collection, documents in contents.items():
        folder.joinpath(collection + ending).write_bytes(written(documents))
    return folder
