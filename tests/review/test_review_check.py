"""``lineage-merge sql --since REV --check`` on a real git repository."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.command_line import in_process
from tests.lineage_made import MadeLineage

TABLES = (
    "create table dw.t (a int, b string, c string);\ncreate table raw.s (id int, name string, kind string);\n"
)
LOAD = "insert overwrite table dw.t select id, name, kind from raw.s where id > 0;\n"
REPORT = "create table mart.r as select a, upper(b) as b from dw.t where c = 'x';\n"


class Repository:
    """Create a repository with a folder ``etl``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", str(self.root), *identity, *arguments], check=True, capture_output=True)

    def write(self, name: str, text: str) -> None:
        file = self.root / "etl" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.chdir(tmp_path)
    made = Repository(tmp_path)
    made.write("ddl/tables.sql", TABLES)
    made.write("load.sql", LOAD)
    made.write("report.sql", REPORT)
    made.write("unrelated.hql", "create table u as select 1 as one;\n")
    made.commit()
    made.git("checkout", "-q", "-b", "work")
    return made


def check(*more: str, since: str = "main") -> tuple[int, dict[str, object]]:
    outcome = in_process("sql", "etl", "--dialect", "hive", "--since", since, "--check", "--json", *more)
    return outcome.code, json.loads(outcome.out) if outcome.out.strip() else {}


def test_an_unchanged_repository_passes(repository: Repository) -> None:
    code, output = check()

    assert code == 0
    assert output["files"] == []
    assert output["vertices"] == []


def test_added_changed_renamed_and_deleted_files_are_listed(repository: Repository) -> None:
    repository.write("more/new.sql", "create view mart.v as select b from dw.t;\n")
    repository.git("mv", "etl/report.sql", "etl/mart_report.sql")
    repository.write("load.sql", LOAD.replace("name", "lower(name)"))
    repository.git("rm", "-q", "etl/unrelated.hql")
    repository.commit()
    # Neither committed nor known to git.
    repository.write("untracked.sql", "create view mart.w as select a from dw.t;\n")

    code, output = check()

    changes = output["changes"]
    assert isinstance(changes, dict)
    assert {tuple(each.values()) for each in changes["files"]} == {
        ("added", "", "etl/more/new.sql"),
        ("renamed", "etl/report.sql", "etl/mart_report.sql"),
        ("changed", "etl/load.sql", "etl/load.sql"),
        ("deleted", "etl/unrelated.hql", ""),
        ("added", "", "etl/untracked.sql"),
    }
    table, view, other = (f"none|spark_catalog|{name}" for name in ("dw.t", "mart.v", "mart.w"))
    assert {tuple(each.values()) for each in changes["added"]} == {
        ("feeds", table, view),
        ("feeds", table, other),
        ("feeds_column", f"{table}|b", f"{view}|b"),
        ("feeds_column", f"{table}|a", f"{other}|a"),
    }
    assert changes["removed"] == []
    assert [(each["before"], each["after"]) for each in changes["altered"]] == [
        ("IDENTITY", "TRANSFORMATION lower(name)")
    ]
    assert changes["dropped_datasets"] == ["none|spark_catalog|u"]
    assert code == 0  # u has no readers
    assert output["files"] == [f"etl/{name}.sql" for name in ("load", "mart_report", "more/new", "untracked")]


def test_commits_after_the_branch_point_are_ignored(repository: Repository) -> None:
    repository.write("own.sql", "create view mart.v as select b from dw.t;\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    repository.write("load.sql", "insert into dw.t select id, name, name from raw.s;\n")
    repository.commit()
    repository.git("checkout", "-q", "work")

    _, output = check()

    assert output["files"] == ["etl/own.sql"]


def test_a_dropped_column_that_another_file_reads_fails_the_check(repository: Repository) -> None:
    repository.write("ddl/tables.sql", TABLES.replace(", c string);\ncreate", ");\ncreate"))
    repository.write("load.sql", LOAD.replace(", kind", ""))

    code, output = check()

    assert code == 12
    assert output["changes"]["dropped_columns"] == {"none|spark_catalog|dw.t": ["c"]}  # type: ignore[index]
    why = "names columns whose table is unknown: c"
    assert output["breaks"] == [{"where": "etl/report.sql, line 1", "why": why}]


def test_a_dropped_column_with_adapted_readers_passes(repository: Repository) -> None:
    repository.write("ddl/tables.sql", TABLES.replace(", c string);\ncreate", ");\ncreate"))
    repository.write("load.sql", LOAD.replace(", kind", ""))
    repository.write("report.sql", REPORT.replace(" where c = 'x'", ""))

    code, output = check()

    assert (code, output["breaks"]) == (0, [])


def test_an_insert_that_no_longer_fits_its_table_fails_the_check(repository: Repository) -> None:
    repository.write("ddl/tables.sql", TABLES.replace("c string);\ncreate", "c string, d int);\ncreate"))

    code, output = check()

    assert code == 12
    assert output["breaks"] == [
        {"where": "etl/load.sql, line 1", "why": "inserts 3 columns into a table of 4"}
    ]


@pytest.mark.parametrize("given", ["etl", "./etl/", "ABSOLUTE", "..", "etl/report.sql"])
def test_paths_are_relative_to_the_repository_root(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    repository.write("load.sql", "insert overwrite table dw.t select id from raw.s;\n")
    repository.write("report.sql", REPORT.replace("upper(b)", "upper(missing)") + "select from where;\n")
    if given == "..":
        monkeypatch.chdir(tmp_path / "etl" / "ddl")
    path = str(tmp_path / "etl") if given == "ABSOLUTE" else given

    outcome = in_process("sql", path, "--dialect", "hive", "--since", "main", "--check", "--json")
    output = json.loads(outcome.out)

    expected = {"etl/report.sql"} if given.endswith(".sql") else {"etl/report.sql", "etl/load.sql"}
    assert outcome.code == 12
    assert set(output["files"]) == expected
    assert {each["after"] for each in output["changes"]["files"]} == expected
    assert {each["where"].partition(",")[0] for each in output["breaks"]} <= expected
    assert {each["document"] for each in output["problems"]} == expected


def test_reading_a_table_that_is_no_longer_created_fails_the_check(repository: Repository) -> None:
    repository.write("reader.sql", "create table x as select r.a from mart.r;\n")
    repository.commit()
    repository.git("branch", "before")
    repository.git("rm", "-q", "etl/report.sql")

    code, output = check(since="before")

    assert code == 12
    assert output["breaks"] == [
        {"where": "etl/reader.sql, line 1", "why": "reads mart.r, which is no longer created"}
    ]


def test_an_unparsable_statement_fails_the_check(repository: Repository) -> None:
    repository.write("broken.sql", "create view v as select a from dw.t;\n\nselect from from;\n")

    outcome = in_process("sql", "etl", "--dialect", "hive", "--since", "main", "--check")

    assert outcome.code == 12
    assert "etl/broken.sql: line 3: cannot be parsed" in outcome.err
    assert outcome.err.strip().splitlines()[-1] == "error: the check failed: 1 statement cannot be parsed"
    assert "+ dw.t -> v" in outcome.out.splitlines()
    assert in_process("sql", "etl", "--dialect", "hive", "--since", "main").code == 7


def test_readers_of_a_dropped_column_in_the_graph_fail_the_check(
    repository: Repository, tmp_path: Path
) -> None:
    ids = {name: f"prod|spark_catalog|{name}" for name in ("dw.t", "other.x")}
    whose = {"environment": "prod", "dag_name": "reports"}
    nodes = [
        *({"id": each, "label": "table", "name": name, **whose} for name, each in ids.items()),
        {"id": f"{ids['dw.t']}|c", "label": "column", "name": "c", **whose},
        {"id": f"{ids['other.x']}|k", "label": "column", "name": "k", **whose},
    ]
    moved = {**whose, "job_type": "spark", "job_name": "nightly"}
    edges = [
        {"id": "1", "label": "has_column", "from": ids["dw.t"], "to": f"{ids['dw.t']}|c", **whose},
        {"id": "2", "label": "has_column", "from": ids["other.x"], "to": f"{ids['other.x']}|k", **whose},
        {
            "id": "3",
            "label": "feeds_column",
            "from": f"{ids['dw.t']}|c",
            "to": f"{ids['other.x']}|k",
            **moved,
        },
        {"id": "4", "label": "feeds", "from": ids["dw.t"], "to": ids["other.x"], **moved},
    ]
    for kind, rows in (("nodes", nodes), ("edges", edges)):
        (tmp_path / "graph" / kind).mkdir(parents=True)
        text = "".join(json.dumps(each) + "\n" for each in rows)
        (tmp_path / "graph" / kind / "part.jsonl").write_text(text)
    repository.write("ddl/tables.sql", TABLES.replace(", c string);\ncreate", ");\ncreate"))
    repository.write("load.sql", LOAD.replace(", kind", ""))
    repository.write("report.sql", REPORT.replace(" where c = 'x'", ""))

    code, output = check("--folder", "graph")

    assert code == 12
    where = "spark nightly (DAG reports), into other.x"
    assert output["breaks"] == [{"where": where, "why": "reads dw.t#c, which is dropped"}]
    (affected,) = output["changes"]["affected"]  # type: ignore[index]
    assert (affected["of"], affected["datasets"], affected["columns"]) == ("dw.t#c", 1, 1)


def test_fields_in_the_graph_are_no_columns_of_a_table(repository: Repository, tmp_path: Path) -> None:
    lineage = MadeLineage()
    lineage.flow("spark_catalog|raw.s > spark_catalog|dw.people")
    lineage.columns("spark_catalog|raw.s.name > spark_catalog|dw.people.address/city")
    lineage.nodes["dev|spark_catalog|dw.people|address"]["position"] = 0
    lineage.folder(tmp_path / "graph")
    repository.write("people.sql", "insert overwrite table dw.people select id, name from raw.s;\n")

    code, output = check("--folder", "graph")

    assert code == 12
    assert output["breaks"] == [
        {"where": "etl/people.sql, line 1", "why": "inserts 2 columns into a table of 1"}
    ]


def test_an_unknown_revision_is_one_line(repository: Repository) -> None:
    outcome = in_process("sql", "etl", "--dialect", "hive", "--since", "nowhere")

    assert outcome.code == 3
    assert outcome.err.startswith("error: git: Not a valid object name nowhere")
    assert len(outcome.err.strip().splitlines()) == 1


def test_a_folder_without_git_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "a.sql").write_text("select 1")

    outcome = in_process("sql", str(tmp_path), "--dialect", "hive", "--since", "main")

    assert (outcome.code, outcome.err.count("\n")) == (3, 1)
    assert "not a git repository" in outcome.err
