"""Documents of each source that hold a secret in every text, one document a form."""

import copy
import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from tests.agent_lines import line, of_database
from tests.dbt_column_project import Project
from tests.redaction.secret_forms import SECRET, some_forms
from tests.sources.hive.hive_lines import document
from tests.sources.hive.hive_lines import line as hive_line
from tests.sources.openlineage.made_events import dataset, event, job_type, of_spark
from tests.sources.quicksight import made_definitions as quicksight
from tests.spline_documents import Document, SplineDatabase, table_structure, table_text, write_collections

# What links documents, or is one of few words: nothing that a person writes.
_LINKS = frozenset(
    {
        "_key", "_id", "_rev", "_from", "_to", "_belongsTo", "_typeHint", "type", "uid", "planKey",
        "executionPlanKey", "__exprId",
        "dataTypeId", "dataType", "childIds", "refs", "id", "path", "database",
    }
)  # fmt: skip
_OPENLINEAGE = frozenset(
    {
        "eventType", "eventTime", "producer", "schemaURL", "runId", "_producer", "_schemaURL", "type",
        "subtype", "processingType", "integration", "jobType", "datasetType",
    }
)  # fmt: skip
_HIVE = frozenset({"version", "edgeType", "vertexType", "hash", "engine"})
_QUICKSIGHT = frozenset(
    {
        "Arn", "DataSetArn", "DataSourceArn", "DataSetId", "DataSourceId", "DashboardId", "PhysicalTableId",
        "DataSetIdentifier", "Identifier", "VisualId", "SheetId", "FieldId", "FilterId", "FilterGroupId",
        "Actions", "CrossDataset", "Status", "Type",
    }
)  # fmt: skip
_SUPERSET = frozenset(
    {
        "uuid", "database_uuid", "dataset_uuid", "datasetUuid", "viz_type", "type", "filterType", "aggregate",
        "clause", "expressionType", "operator", "query_mode", "id", "children", "parents", "rootPath",
        "version", "slug",
    }
)  # fmt: skip
# What refers to other objects by their names, or says where these are.
_QUICKSIGHT_NAMES = frozenset(
    {"Name", "ColumnName", "NewColumnName", "LeftOperand", "RightOperand", "Schema", "Host", "Database"}
)
_SUPERSET_NAMES = frozenset(
    {
        "column_name", "metric_name", "table_name", "database_name", "groupby", "groupbyRows",
        "groupbyColumns", "columns", "column", "metric", "metrics", "all_columns", "x_axis", "subject",
        "entity", "series",        "source", "target", "datasource", "order_by_cols",
    }
)  # fmt: skip
_REDSHIFT = "redshift+psycopg2://u:{}@wh.us-east-1.redshift.amazonaws.com:5439/dw"
_HOW = {"transformations": [{"type": "DIRECT", "subtype": "IDENTITY", "description": "text"}]}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SUBQUERY = "Project [a#1]\n+- Filter (a#1 = {})\n   +- Relation spark_catalog.shop.parts[a#1,b#2] parquet\n"


def injected(value: Any, form: str, keep: frozenset[str]) -> Any:
    """A document with the form in place of every text, but for those under the keys to keep."""
    if isinstance(value, str):
        return form
    if isinstance(value, list):
        return [injected(each, form, keep) for each in value]
    if isinstance(value, dict):
        return {key: each if key in keep else injected(each, form, keep) for key, each in value.items()}
    return value


def fields(value: Any, keep: frozenset[str], path: str = "") -> set[str]:
    """The places of the texts that `injected` replaces."""
    if isinstance(value, str):
        return {path}
    if isinstance(value, list):
        return set().union(*(fields(each, keep, path) for each in value))
    if isinstance(value, dict):
        return set().union(
            *(fields(each, keep, f"{path}.{key}") for key, each in value.items() if key not in keep)
        )
    return set()


class Spline:
    """A captured plan with columns, and a made one with tables, a view, a subquery and an error."""

    # Spline's own keys of addresses and applications.
    addresses = frozenset({"inputSources", "outputSource", "uri", "dataSourceUri", "applicationName", "name"})

    def __init__(self, data: Path) -> None:
        made = SplineDatabase()
        made.plan(
            "app",
            reads=["s3://raw/sales", "s3://raw/event"],
            writes="s3://lake/sales",
            table=table_structure("shop", "sales"),
            created_table=table_text("shop", "sales", rest="Location: s3://lake/sales\nComment: text"),
            subqueries=[_SUBQUERY],
            views=["view"],
            rows=3,
        )
        self._made = dict(made.contents)
        self._captured = _plan_with_columns(data)

    def _templates(self) -> list[Mapping[str, list[Document]]]:
        return [self._made, self._captured]

    def fields(self) -> set[str]:
        return set().union(
            *(fields(each, _LINKS, name) for part in self._templates() for name, each in part.items())
        )

    def collections(self, *, captured: bool = True) -> dict[str, list[Document]]:
        """Each form in a plan with all texts, and in one whose addresses lead somewhere."""
        found: dict[str, list[Document]] = {}
        for number, form in enumerate(some_forms()):
            for which, keep in (("all", _LINKS), ("texts", _LINKS | self.addresses)):
                template = self._templates()[number % 2 if captured else 0]
                for collection, documents in template.items():
                    for each in documents:
                        made = _renamed(injected(each, form, keep), f"{number}/{which}")
                        found.setdefault(collection, []).append(made)
        return found


def _plan_with_columns(data: Path) -> Mapping[str, list[Document]]:
    """The plan of a capture that has the most collections, among the small ones."""
    by_plan: dict[str, dict[str, list[Document]]] = {}
    for file in sorted((data / "spline" / "seed_queries").glob("*.jsonl")):
        for text in file.read_text().splitlines():
            found = json.loads(text)
            key = str(found.get("_belongsTo") or found["_key"]).rpartition("/")[2].partition(":")[0]
            if file.stem == "progress":
                key = found["execPlanDetails"]["executionPlanKey"]
            by_plan.setdefault(key, {}).setdefault(file.stem, []).append(found)
    plans = [each for each in by_plan.values() if "executionPlan" in each and "progress" in each]
    return max(plans, key=lambda each: (len(each), -sum(map(len, each.values()))))


def _renamed(found: Document, salt: str) -> Document:
    """The document under other keys: those of its plan with a salt."""
    text = json.dumps(found)
    key = str(found.get("_belongsTo") or found["_key"]).rpartition("/")[2].partition(":")[0]
    if "planKey" in found:
        key = found["planKey"]
    return dict(json.loads(text.replace(key, str(uuid.uuid5(uuid.NAMESPACE_URL, key + salt)))))


def write_spline(spline: Spline, folder: Path) -> Path:
    return write_collections(spline.collections(), folder)


def write_agent(spline: Spline, file: Path) -> None:
    """The made plans: an agent's message has another form for columns."""
    messages = of_database(spline.collections(captured=False))
    file.write_text("".join(line(message) + "\n" for message in messages))


_FACETS = {
    "schema": {
        "fields": [{"name": "a", "type": "int", "description": "text"}]
    },
    "documentation": {"description": "text"},
    "symlinks": {"identifiers": [{"namespace": "glue", "name": "table/d/t", "type": "TABLE"}]},
    "storage": {"storageLayer": "iceberg", "fileFormat": "parquet"},
    "catalog": {"name": "c", "framework": "iceberg", "source": "spark", "warehouseUri": "s3://lake"},
    "dataSource": {"name": "s3://lake", "uri": "s3://lake"},
    "columnLineage": {
        "fields": {"a": {"inputFields": [{"namespace": "s3://raw", "name": "in", "field": "a", **_HOW}]}},
        "dataset": [{"namespace": "s3://raw", "name": "in", "field": "a", **_HOW}],
    },
}  # fmt: skip


def openlineage_template() -> Document:
    return event(
        "COMPLETE",
        "06:01",
        "job",
        inputs=[dataset("s3://raw|in", _FACETS)],
        outputs=[dataset("s3://lake|out", _FACETS, rows=3)],
        run_facets={**of_spark("app"), "errorMessage": {"message": "text", "stackTrace": "text"}},
        job_facets={
            **job_type("SPARK", "JOB"),
            "documentation": {"description": "text"},
            "sql": {"query": "select 1", "dialect": "spark"},
            "ownership": {"owners": [{"name": "me", "type": "x"}]},
        },
    )


def openlineage_fields() -> set[str]:
    return fields(openlineage_template(), _OPENLINEAGE)


def write_openlineage(file: Path) -> None:
    """All texts; all but the names of datasets; only the names of other datasets and the texts of columns."""
    names = frozenset({"namespace", "name"})
    made = []
    for number, form in enumerate(some_forms()):
        template = copy.deepcopy(openlineage_template())
        common = frozenset({"job", "run"})
        for which, keep in (
            ("all", _OPENLINEAGE),
            ("texts", _OPENLINEAGE | names),
            ("data", _OPENLINEAGE | common),
        ):
            found = injected(template, form, keep)
            if which == "data":
                for number_of_output, output in enumerate(found["outputs"]):
                    output |= {"namespace": "s3://lake", "name": f"out{number}/{number_of_output}"}
            found["run"]["runId"] = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{number}/{which}"))
            made.append(found)
    file.write_text("".join(json.dumps(each) + "\n" for each in made))


def _hive_template() -> Document:
    edges = [
        ("PROJECTION", "aes_encrypt(a.b, 'k')", ["ods.a.b"], ["dw.t.x"]),
        ("PREDICATE", "(a.b = 'x')", ["ods.a.b"], ["dw.t.x"]),
    ]
    return document("insert overwrite directory 's3://lake/x' select b from ods.a", edges)


def hive_fields() -> set[str]:
    return fields(_hive_template(), _HIVE)


def write_hive(file: Path) -> None:
    lines = []
    for number, form in enumerate(some_forms()):
        literal = form.replace("'", "\\'")
        for which, keep in (
            ("all", _HIVE),
            ("texts", _HIVE | {"vertexId"}),
            ("names", _HIVE | {"queryText"}),
        ):
            found = injected(_hive_template(), form, keep)
            if which == "texts":
                found["queryText"] = f"insert overwrite directory '{literal}' select b from ods.a"
            found["hash"] = hashlib.md5(f"{number}/{which}".encode(), usedforsecurity=False).hexdigest()
            lines.append(hive_line(found))
    file.write_text("\n".join(lines) + "\n")


_SQL = (
    "insert into dw.t{number} select '{literal}' as a, concat(b, '{literal}') as c from s.a",
    "create external table dw.e{number} (a int comment '{literal}') comment '{literal}' location '{literal}'",
    "-- {comment}\ninsert into `dw`.`{quoted}` select `{quoted}` as `{quoted}` from `{quoted}`.`t` `x`",
    "set hivevar:x={comment}; insert into dw.u{number} select hmac(a, 'Hunter2Zq9') from csv.`{quoted}`",
    "insert overwrite directory '{literal}' select {comment} from",
)


def write_sql(folder: Path) -> None:
    folder.mkdir()
    for number, form in enumerate(some_forms()):
        text = ";\n".join(
            each.format(
                number=number,
                literal=form.replace("\\", "\\\\").replace("'", "\\'"),
                comment=form.replace("\n", " "),
                quoted=form.replace("`", "``"),
            )
            for each in _SQL
        )
        folder.joinpath(f"f{number}.sql").write_text(text)


_QUERIES = (
    "insert into dw.q{number} select '{literal}' as a, concat(b, '{literal}') as c from s.a",
    "copy dw.c{number} from 's3://lake/in/' credentials 'aws_secret_access_key={literal}'",
    '/* {comment} */ insert into dw.p{number} select "{quoted}" as "{quoted}" from s.a',
    "create user u{number} password '{literal}'",
    "insert into dw.broken{number} select '{literal}' {comment} from",
)


def write_query_log(folder: Path) -> None:
    """Redshift's views with the form in literals, comments, names, query groups, users and paths of files."""
    history: list[dict[str, Any]] = []
    details: list[dict[str, Any]] = []
    for number, form in enumerate(some_forms()):
        for position, text in enumerate(_QUERIES):
            literal = form.replace("\\", "\\\\").replace("'", "''")
            comment = form.replace("*/", "").replace("\n", " ")
            quoted = form.replace('"', '""')
            sql = text.format(number=number, literal=literal, comment=comment, quoted=quoted)
            query = number * len(_QUERIES) + position
            started = f"2026-11-02 06:{query // 60 % 60:02}:{query % 60:02}"
            details.append({"query_id": query, "file_name": form, "start_time": started})
            history.append(
                {
                    "user_id": 100,
                    "query_id": query,
                    "query_label": form if position == 0 else "default",
                    "transaction_id": query,
                    "session_id": number,
                    "database_name": "dw",
                    "status": "success",
                    "start_time": started,
                    "end_time": started,
                    "query_text": sql,
                    "username": form,
                }
            )
    for view, rows in (("sys_query_history", history), ("sys_load_detail", details)):
        file = folder / view / "000.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_dbt(manifest: Path, catalog: Path) -> None:
    project = Project("spark")
    tables: dict[str, Any] = {}
    for number, form in enumerate(some_forms()):
        texts: dict[str, Any] = {
            "description": form,
            "tags": [form],
            "meta": {"owner": form},
            "columns": {form: {"name": form, "description": form, "data_type": form}},
            "loader": form,
        }
        project.source(f"s{number}", "id", complete=False)
        project.sources[f"source.p.raw.s{number}"] |= {**texts, "external": {"location": form}}
        literal = form.replace("\\", "\\\\").replace("'", "\\'")
        sql = f"select id, '{literal}' as a, aes_encrypt(id, 'Hunter2Zq9') as e from db.raw.s{number}"
        project.model(
            f"m{number}",
            sql,
            f"source.raw.s{number}",
            **texts,
            config={"materialized": "table", "location_root": form},
        )
        project.model(f"n{number}", f"select {form!r} from", f"model.m{number}", **texts, alias=form)
        project.source(f"t{number}", "id", complete=False, identifier=form, relation_name=form)
        project.model(
            f"o{number}",
            f"select id from db.raw.t{number}",
            f"source.raw.t{number}",
            schema=form,
            relation_name=form,
        )
        tables[f"model.p.m{number}"] = {
            "metadata": {"name": form, "comment": form, "type": form},
            "columns": {"id": {"name": form, "type": form, "comment": form, "index": 1}},
        }
    exposures = {
        f"exposure.p.e{number}": {
            "unique_id": f"exposure.p.e{number}", "resource_type": "exposure", "name": form, "label": form,
            "type": "dashboard", "url": form, "description": form, "tags": [form],
            "owner": {"name": form, "email": form},
            "depends_on": {"nodes": [f"model.p.m{number}"]},
        }
        for number, form in enumerate(some_forms())
    }  # fmt: skip
    whole = {
        "metadata": project.metadata,
        "nodes": project.nodes,
        "sources": project.sources,
        "exposures": exposures,
    }
    manifest.write_text(json.dumps(whole))
    version = "https://schemas.getdbt.com/dbt/catalog/v1.json"
    catalog.write_text(
        json.dumps({"metadata": {"dbt_schema_version": version}, "nodes": tables, "sources": {}})
    )


def glue_tables() -> Iterable[dict[str, Any]]:
    """Tables as Glue's API takes them: at a path that a plan writes, and at the form itself."""
    for number, form in enumerate(some_forms()):
        columns = [
            {"Name": f"a{number}", "Type": form[:1000], "Comment": form[:250]},
            {"Name": form[:250], "Type": "int"},
        ]
        for name, location in ((f"t{number}", "s3://lake/sales"), (f"u{number}", form)):
            yield {
                "Name": name,
                "Description": form,
                "TableType": "EXTERNAL_TABLE",
                "Parameters": {
                    "classification": form,
                    "comment": form,
                    "table_type": "ICEBERG",
                    "metadata_location": form,
                },
                "PartitionKeys": [{"Name": f"p {form[:200]}", "Type": "date", "Comment": form[:250]}],
                "StorageDescriptor": {"Columns": columns, "Location": location, "Parameters": {"url": form}},
            }


def _quicksight_template(number: int) -> dict[str, Document]:
    """Documents by name: two data sources with passwords, data sets, a dashboard, and facts about it."""
    identifier, source = f"d{number}", f"{quicksight.ACCOUNT}:datasource/s{number}"
    warehouse = copy.deepcopy(quicksight.WAREHOUSE)
    warehouse["DataSource"] |= {
        "Arn": source,
        "DataSourceId": f"s{number}",
        "Credentials": {"CredentialPair": {"Username": "u", "Password": "text"}},
        "ErrorInfo": {"Message": "text"},
    }
    raw = quicksight.table("t", "a", "b", source=source)
    query = quicksight.query("select a, b from raw.t", "a", "b", source=source)
    steps = [
        quicksight.created(c="concat({a}, 'text')"),
        {"FilterOperation": {"ConditionExpression": "{a} = 'text'"}},
        {"RenameColumnOperation": {"ColumnName": "b", "NewColumnName": "e"}},
    ]
    data_set = quicksight.data_set(
        identifier,
        {"raw": raw, "query": query},
        {
            "raw": quicksight.logical(quicksight.physical("raw"), *steps, alias="left"),
            "query": quicksight.logical(quicksight.physical("query"), alias="right"),
            "both": quicksight.logical(quicksight.join("raw", "query", "{a} = {a[right]}")),
        },
    )
    data_set["DataSet"]["RowLevelPermissionTagConfiguration"] = {
        "TagRules": [{"TagKey": "text", "ColumnName": "a", "MatchAllValue": "text"}]
    }
    shown = [quicksight.dimension("a", identifier), quicksight.measure("net", data_set=identifier)]
    board = quicksight.dashboard(
        quicksight.sheet("s", quicksight.visual("v", *shown, title="Title")),
        calculated={"net": "ifelse({a} = 'text', {b}, 0)"},
        data_sets=[identifier],
        identifier=f"b{number}",
        FilterGroups=[quicksight.filters(quicksight.category_filter("a", identifier))],
        ParameterDeclarations=[{"StringParameterDeclaration": {"Name": "p"}}],
    )
    described = {"DashboardId": f"b{number}", "Version": {"Description": "text"}}
    permission = {"Principal": "text", "Actions": ["quicksight:UpdateDashboard"]}
    return {
        "source": warehouse,
        "data_set": data_set,
        "board": board,
        "described": {"Dashboard": described},
        "permissions": {"DashboardId": f"b{number}", "Permissions": [permission]},
    }


def quicksight_fields() -> set[str]:
    return set().union(*(fields(each, _QUICKSIGHT, name) for name, each in _quicksight_template(0).items()))


def write_quicksight(folder: Path) -> None:
    """All texts; all but names and addresses. Expressions and SQL have the form in literals and comments."""
    folder.mkdir()
    for number, form in enumerate(some_forms()):
        for which, keep in (("all", _QUICKSIGHT), ("texts", _QUICKSIGHT | _QUICKSIGHT_NAMES)):
            for name, template in _quicksight_template(2 * number + (which == "texts")).items():
                found = _with_expressions(injected(template, form, keep), template, form)
                folder.joinpath(f"{number}_{which}_{name}.json").write_text(json.dumps(found))


def _with_expressions(value: Any, template: Any, form: str) -> Any:
    """A document with the expressions of its template, in which literals and comments are the form."""
    if isinstance(value, list):
        return [_with_expressions(*pair, form) for pair in zip(value, template, strict=True)]
    if not isinstance(value, dict):
        return value
    escaped = form.replace("\\", "\\\\")
    comment = " ".join(form.replace("*/", "").split())
    in_sql, in_expression = _doubled(escaped), escaped.replace("'", "\\'")
    written = {
        "SqlQuery": f"/* {comment} */ select a, b || '{in_sql}' as b from raw.t where a = '{in_sql}'",
        "Expression": f"ifelse({{a}} = '{in_expression}', {{b}}, 'x') /* {comment} */",
        "ConditionExpression": f"{{a}} = '{in_expression}' // {comment}",
        "OnClause": "{a} = {a[right]}",
        "Principal": f"{quicksight.ACCOUNT}:user/default/{form}",
    }
    return {
        key: written.get(key) or _with_expressions(each, template[key], form) for key, each in value.items()
    }


def _doubled(literal: str) -> str:
    return literal.replace("'", "''")


def _superset_documents(data: Path) -> dict[str, Document]:
    """The documents of the recorded export, by file."""
    folder = data / "superset"
    files = sorted(folder.rglob("*.yaml"))
    return {file.relative_to(folder).as_posix(): yaml.safe_load(file.read_text()) for file in files}


def superset_fields(data: Path) -> set[str]:
    return set().union(*(fields(each, _SUPERSET, name) for name, each in _superset_documents(data).items()))


def write_superset(folder: Path, data: Path) -> None:
    """An export a form: all texts; all but names. SQL has the form in literals and comments."""
    recorded = _superset_documents(data)
    for number, form in enumerate(some_forms()):
        for which, keep in (("all", _SUPERSET), ("texts", _SUPERSET | _SUPERSET_NAMES)):
            for name, template in recorded.items():
                found = _with_sql(injected(template, form, keep), form)
                if "sqlalchemy_uri" in found:
                    found |= {"password": form, "encrypted_extra": {"token": form}}
                    if which == "texts":
                        found["sqlalchemy_uri"] = _REDSHIFT.format(quote(form, safe=""))
                file = folder / f"{number}_{which}" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(_with_other_uuids(yaml.safe_dump(found), f"{number}/{which}"))


class SupersetServer(BaseHTTPRequestHandler):
    """Superset's API, which repeats the secrets that it gets, and lists dashboards that have a form each."""

    def do_POST(self) -> None:
        given = self.rfile.read(int(self.headers["Content-Length"]))
        is_known = json.loads(given)["username"] == "ann"
        self._answer(
            200 if is_known else 401, {"access_token": SECRET} if is_known else {"message": str(given)}
        )

    def do_GET(self) -> None:
        if "/export/" in self.path:
            self._answer(500, {"message": self.headers["Authorization"]})
            return
        texts = ("dashboard_title", "url", "changed_on_utc", "uuid")
        listed = [
            {"id": number, "published": True, "owners": [{"first_name": form, "last_name": form}]}
            | dict.fromkeys(texts, form)
            for number, form in enumerate(some_forms())
        ]
        self._answer(200, {"count": len(listed), "result": listed})

    def _answer(self, status: int, body: Document) -> None:
        content = json.dumps(body).encode()
        self.send_response(status, SECRET)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _with_sql(value: Any, form: str) -> Any:
    """A document whose SQL selects the form."""
    if isinstance(value, list):
        return [_with_sql(each, form) for each in value]
    if not isinstance(value, dict):
        return value
    literal, comment = _doubled(form.replace("\\", "\\\\")), " ".join(form.replace("*/", "").split())
    # Jinja reads braces.
    literal, comment = (re.sub(r"[{}]{2}|[{}]%|%[{}]", "", text) for text in (literal, comment))
    written = {
        "sql": f"/* {comment} */ select '{literal}' || segment as segment, day from orders",
        "expression": f"amount || '{literal}'",
        "sqlExpression": f"max(amount || '{literal}') /* {comment} */",
    }
    return {
        key: written[key] if key in written and each else _with_sql(each, form) for key, each in value.items()
    }


def _with_other_uuids(text: str, salt: str) -> str:
    """Return a document with UUIDs of its own export."""
    return _UUID.sub(lambda found: str(uuid.uuid5(uuid.NAMESPACE_URL, found[0] + salt)), text)
