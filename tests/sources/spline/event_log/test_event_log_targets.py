"""What the commands of a log write: tables of Hive, Iceberg and Delta, other data sources."""

import json
from collections.abc import Iterable, Mapping

import pytest

from lineage_merge.model.elements import Problem
from lineage_merge.sources.spline.event_log.writes import read_writes

_SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
QUERY = """== Physical Plan ==
* Project (2)
+- Scan csv  (1)


(1) Scan csv
Output [2]: [order_id#17, amount#19]
Location: InMemoryFileIndex [s3://b/in/orders]
ReadSchema: struct<order_id:int,amount:double>

(2) Project [codegen id : 1]
Output [2]: [order_id#17 AS id#34, (amount#19 * 2.0) AS amt#35]
Input [2]: [order_id#17, amount#19]

"""
GLUE = {
    "spark.sql.catalog.glue": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.glue.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
}
HADOOP = {
    "spark.sql.catalog.h": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.h.type": "hadoop",
    "spark.sql.catalog.h.warehouse": "s3://b/wh/",
}


def iceberg(table: str, node: str = "AppendData") -> str:
    """Return the plan of a write of the query to a table of Iceberg."""
    return (
        QUERY.replace("* Project (2)\n+- Scan csv  (1)", f"{node} (3)\n+- * Project (2)\n   +- Scan csv  (1)")
        + f"(3) {node}\nInput [2]: [id#34, amt#35]\n"
        + f"Arguments: org.X$$Lambda$1@2, IcebergWrite(table={table}, format=PARQUET)\n"
    )


def save(provider: str, options: str) -> str:
    """Return the plan of a `save`, whose rows are in an inner execution."""
    return f"""== Physical Plan ==
Execute SaveIntoDataSourceCommand (1)
   +- SaveIntoDataSourceCommand (2)
         +- Project (4)
            +- LogicalRelation (3)


(1) Execute SaveIntoDataSourceCommand
Output: []

(2) SaveIntoDataSourceCommand
Arguments: {provider}, [{options}], Append

(3) LogicalRelation
Arguments: csv, [order_id#17, amount#19], false

(4) Project
Arguments: [order_id#17 AS id#34, (amount#19 * 2.0) AS amt#35]
"""


def write_hudi(command: str, arguments: str) -> str:
    """Return the plan of a command of Hudi that writes the query."""
    tree = f"Execute {command} (3)\n+- * Project (2)\n   +- Scan csv  (1)"
    plan = QUERY.replace("* Project (2)\n+- Scan csv  (1)", tree)
    return f"{plan}(3) Execute {command}\nInput [2]: [id#34, amt#35]\nArguments: {arguments}\n"


_CREATE = "Execute CreateDataSourceTableAsSelectCommand"
_HIVE = "Execute InsertIntoHiveTable"
HIVE = (
    QUERY.replace("* Project (2)\n+- Scan csv  (1)", f"{_HIVE} (3)\n+- * Project (2)\n   +- Scan csv  (1)")
    + f"(3) {_HIVE}\nInput [2]: [id#34, amt#35]\nArguments: `spark_catalog`.`h4`.`tx`, "
    + "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe, true, false, [id, amt]\n"
)
CREATED = """== Physical Plan ==
AtomicCreateTableAsSelect (1)


(1) AtomicCreateTableAsSelect
Arguments: org.apache.iceberg.spark.SparkCatalog@a6, db.t, Project [order_id#17 AS id#34], TableSpec(), false
"""
DELTA = "org.apache.spark.sql.delta.sources.DeltaDataSource@1"
JDBC = "org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider@7d"


def read(
    plans: Iterable[str], properties: Mapping[str, str], *others: Mapping[str, object]
) -> tuple[list[str], list[str]]:
    """Return the targets of executions inside of the first one, and the problems; `others` are events."""
    events: list[Mapping[str, object]] = [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.9"},
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": dict(properties)},
    ]
    known = list(enumerate(plans, 1))
    for number, plan in known:
        started = {"executionId": number, "rootExecutionId": 1, "physicalPlanDescription": plan, "time": 1}
        events.append({"Event": f"{_SQL}Start", **started})
    events += others
    for number, _ in reversed(known):
        events.append({"Event": f"{_SQL}End", "executionId": number, "time": 2, "errorMessage": ""})
    lines = (json.dumps(event, separators=(",", ":")).encode() for event in events)
    found = list(read_writes("log", ((f"line {number}", line) for number, line in enumerate(lines))))
    problems = [item.message for item in found if isinstance(item, Problem)]
    targets = []
    for item in found:
        if not isinstance(item, Problem):
            write = item.plan["operations"]["write"]
            targets.append(f"{write['outputSource']} {'append' if write['append'] else 'overwrite'}")
    return targets, problems


@pytest.mark.parametrize(
    ("plans", "properties", "target"),
    [
        pytest.param([HIVE], {}, "catalog-table:spark_catalog/h4.tx overwrite", id="hive"),
        pytest.param([iceberg("h.db.t")], HADOOP, "s3://b/wh/db/t append", id="iceberg in a hadoop catalog"),
        pytest.param(
            [iceberg("glue.db.t", "OverwritePartitionsDynamic")],
            GLUE,
            "catalog-table:glue/db.t overwrite",
            id="iceberg in Glue's catalog",
        ),
        pytest.param(
            [CREATED, iceberg("db.t")],
            GLUE,
            "catalog-table:glue/db.t overwrite",
            id="iceberg created as select, in the only catalog",
        ),
        pytest.param(
            [write_hudi("InsertIntoHoodieTableCommand", "Relation c.d.t[id#1,amt#2] org.X@1, false")],
            {},
            "catalog-table:c/d.t append",
            id="hudi",
        ),
        pytest.param(
            [write_hudi("CreateHoodieTableAsSelectCommand", "`c`.`d`.`t`, ErrorIfExists"), iceberg("x.y")],
            {},
            "catalog-table:c/d.t overwrite",
            id="hudi created as select, with the execution inside of it",
        ),
        pytest.param(
            [save(DELTA, "path=s3://b/delta/t"), QUERY], {}, "s3://b/delta/t append", id="delta by path"
        ),
    ],
)
def test_the_target_of_a_write(plans: list[str], properties: dict[str, str], target: str) -> None:
    assert read(plans, properties) == ([target], [])


@pytest.mark.parametrize(
    ("plans", "properties"),
    [
        pytest.param([CREATED, iceberg("db.t")], {**GLUE, **HADOOP}, id="a table in one of two catalogs"),
        pytest.param(
            [save(JDBC, "url=*********(redacted), dbtable=TOTALS"), QUERY], {}, id="a table without a host"
        ),
        pytest.param(
            [save(DELTA, "path=/data/d"), QUERY], {"spark.master": "yarn"}, id="a path without a file system"
        ),
    ],
)
def test_a_target_that_the_log_does_not_name_is_reported(
    plans: list[str], properties: dict[str, str]
) -> None:
    targets, problems = read(plans, properties)

    assert targets == []
    assert len(problems) == 1


def test_a_table_without_a_database_in_its_plan_has_the_one_in_which_it_was_created() -> None:
    plan = QUERY.replace(
        "* Project (2)\n+- Scan csv  (1)", f"{_CREATE} (3)\n+- * Project (2)\n   +- Scan csv  (1)"
    )
    plan += f"(3) {_CREATE}\nInput [2]: [id#34, amt#35]\nArguments: `sales`, ErrorIfExists, [id, amt]\n"
    created = {
        "Event": "org.apache.spark.sql.catalyst.catalog.CreateTableEvent",
        "database": "shop",
        "name": "sales",
    }

    assert read([plan], {}) == ([], ["a table whose database is not in the plan: `sales`"])
    assert read([plan], {}, created) == (["catalog-table:spark_catalog/shop.sales overwrite"], [])
