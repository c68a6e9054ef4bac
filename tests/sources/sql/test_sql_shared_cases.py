"""Public statements that were read wrongly, with the right answers, where the shared folder is present."""

import re
from pathlib import Path

import pytest

from tests.sources.sql.sql_reading import lineage_of

CASES = Path(__file__).parents[4] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")

# What each file must give, among others: edges of columns (`>`), of datasets (`->`), influences (`~`).
FILES = {
    "18-group-by-alias bigquery": (
        "data.id>o.my_id data.id>o.full_name data.name>o.full_name data.id~o data.name~o"
    ),
    "31-clickhouse-alias-wins clickhouse": "data.id>o.my_id data.id>o.x data.id~o",
    "33-copy-columns-sql redshift": "j.id>t.id j.v>t.v a.v>t2.v avro.id>final.id",
    "70-databricks-streaming-mask databricks": (
        "sensitive->masked src.id>t1.id some_source.a>t2.a t1.id>mv.id"
    ),
    "73-snowflake-insert-all snowflake": "src.id>t1.id src.id>t2.id src.v>t2.v src.n~t1 src.n~t2",
    "81-bigquery-external-and-clone bigquery": "src.id>snap.id src.v>snap.v src.id>cl.id src->x y->lt",
    "82-postgres-remote-functions postgres": (
        "live.id>arch.id live.v>arch.v live.v>up.v up.v>up.v live.v~arch"
    ),
    "84-clickhouse-mv-to clickhouse": "src.v>agg.n src.id>agg.id x.id>o1.id src->out.csv",
    "85-mysql-replace-duplicate mysql": "s.v>t.v t.v>t.v s.v>u.v s.v>w.g",
    "86-tsql-output-openquery tsql": (
        "src.id>audit.id tgt.id>audit.id src.js>oj.a t->o4 src.tags>xp.tl src.js>pv.one"
    ),
    "87-snowflake-objects snowflake": (
        "t.v>c.v t.v>dyn.n t.v>mr.fv q.px>aj.px src0.id>live.id t_stream.id>st.id"
    ),
    "90-postgres-writable-cte postgres": (
        "products.id>products_log.id stage.name>parent.name parent.id>child.parent_id"
    ),
    "91-upsert-excluded postgres": "live.v>up.v up.v>up.v live.ts>up2.v live.ts>up2.seen",
}
# Names of parts that the result must not have.
NO_DATASETS = {
    "90-postgres-writable-cte postgres": {"moved_rows", "ins"},
    "82-postgres-remote-functions postgres": {"moved"},
}


def _short(name: str) -> str:
    name = name.rstrip("/*.").removesuffix("/*.parquet").removesuffix("/*.csv").rstrip("/*")
    return name.rpartition("/")[2] if "/" in name else name.rpartition(".")[2]


def _found(sql: str, dialect: str) -> set[str]:
    lineage = lineage_of(sql, dialect)
    facts = {f"{_short(source)}->{_short(target)}" for source, target in lineage.feeds}
    for edge in lineage.columns:
        source, target = edge.rsplit(" ", 1)[0].split(" > ")
        (dataset, column), (to, to_column) = (end.split("#") for end in (source, target))
        facts.add(f"{_short(dataset)}.{column}>{_short(to)}.{to_column}")
    for influence in lineage.influences:
        source, target = influence.rsplit(" ", 1)[0].split(" > ")
        dataset, column = source.split("#")
        facts.add(f"{_short(dataset)}.{column}~{_short(target)}")
    return facts


@pytest.mark.parametrize("case", FILES)
def test_a_file_of_the_shared_cases(case: str) -> None:
    folder, dialect = case.split()
    found = _found((CASES / folder / "in.sql").read_text(), dialect)

    assert set(FILES[case].split()) - found == set()
    assert {edge.split("->")[0] for edge in found if "->" in edge}.isdisjoint(NO_DATASETS.get(case, ()))


def _statements() -> list[object]:
    path = CASES / "statements.txt"
    blocks = re.split(r"^== ", path.read_text(), flags=re.MULTILINE)[1:] if path.exists() else []
    return [pytest.param(block, id=block.split("|")[0].strip()) for block in blocks]


@pytest.mark.parametrize("block", _statements())
def test_a_shared_statement(block: str) -> None:
    head, *lines = block.strip().split("\n")
    name, dialect = (part.strip() for part in head.split("|")[:2])
    expected = {
        line[: line.index(":")]: line.partition(":")[2] for line in lines if re.match("(cols|in|out):", line)
    }
    sql = "\n".join(line for line in lines if not re.match("(cols|in|out):", line))

    lineage = lineage_of(sql, dialect)
    found = _found(sql, dialect)

    def short(names: str) -> set[str]:
        return {_short(part.strip()) for part in names.split(",") if part.strip()}

    edges = [edge.strip().split(">") for edge in expected.get("cols", "").split(",") if edge.strip()]
    wanted = {f"{'.'.join(a.split('.')[-2:])}>{'.'.join(b.split('.')[-2:])}" for a, b in edges}
    assert wanted - found == set()
    if name.startswith("F9"):  # names of BigQuery are normalized when datasets are resolved
        return
    assert short(expected.get("in", "")) <= {_short(source) for source, _ in lineage.feeds}
    assert short(expected.get("out", "")) <= {_short(target) for _, target in lineage.writes}


_EXPERIMENT_TABLES = """
create table t1 (id int, k int, a int, b int, l integer[], st struct(x integer, y integer));
create table t2 (id int, k int, x int); create table tgt (id int primary key, a int, b int);
"""
# The target's own columns are no influence.
_OF_TARGET = ("own column in UPDATE's WHERE", "correlated own column")


def _experiments() -> list[object]:
    path = CASES / "experiments.txt"
    blocks = re.split(r"^## ", path.read_text(), flags=re.MULTILINE)[1:] if path.exists() else []
    return [
        pytest.param(block, id=block.split("\n")[0]) for block in blocks if not block.startswith(_OF_TARGET)
    ]


@pytest.mark.parametrize("block", _experiments())
def test_a_column_whose_change_changed_the_result_is_known(block: str) -> None:
    _, statement, change, *_ = block.split("\n")
    changed = re.match(r"\s*UPDATE (\w+) SET (\w+)", change)
    assert changed is not None
    changes_rows = re.match("insert|update", statement, re.IGNORECASE)

    found = lineage_of(
        statement if changes_rows else f"create table o as {statement}", "duckdb", schema=_EXPERIMENT_TABLES
    )

    known = {edge.split(" ")[0].partition(".")[0] for edge in (*found.columns, *found.influences)}
    assert f"{changed[1]}#{changed[2]}" in known
    assert found.problems == set()
