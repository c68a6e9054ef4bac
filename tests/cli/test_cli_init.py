"""The command `init`: a configuration that joins, from the sources of a user."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from click.testing import CliRunner

from lineage_merge.cli import init as init_command
from lineage_merge.cli import main
from lineage_merge.config import Config, ConfigReader, SparkOptions
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver, join
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import list_configured_sources, read_all
from tests.arango_fixtures import ArangoServer
from tests.command_line import PROGRAM, Outcome, in_process, python_imports
from tests.s3_fixtures import S3
from tests.spline_documents import SplineDatabase

SAMPLE = Path(__file__).parents[2] / "sample_data"
WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"
JDBC = "jdbc:redshift://tickit-wh.abc123xyz789.us-east-1.redshift.amazonaws.com:5439/dev:public.event"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sample(folder: Path) -> Path:
    """A working directory with the sample's sources, without its configuration."""
    for name in ("spline", "dbt"):
        shutil.copytree(SAMPLE / name, folder / name)
    return folder


def init(*arguments: str | Path) -> Outcome:
    return in_process("init", *arguments, "--yes", "--quiet")


def as_json(*arguments: str | Path) -> dict[str, Any]:
    outcome = init(*arguments, "--json")
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def written(file: str = "lineage_merge.yml") -> Config:
    return CONFIGURATION.load(Path(file), environ={})


def graph(config: Config) -> tuple[set[str], set[tuple[str, str, str]]]:
    """The ids of the nodes, and the edges, of the graph that a configuration gives."""
    resolver = dataset_resolver.from_config(config)
    records = read_all(LocalEngine(), config, resolver, list_configured_sources(config)).cache()
    merged = join.merge(records, config.environment, config.dag_name, config.merge)
    edges = {(each["from"], each["label"], each["to"]) for each in merged.edges.collect()}
    return {each["id"] for each in merged.nodes.collect()}, edges


def test_the_written_configuration_gives_the_graph_of_the_samples_own(sample: Path) -> None:
    outcome = init(".", "--dag", "tickit_daily")

    assert outcome.code == 0, outcome.err
    assert graph(written()) == graph(CONFIGURATION.load(SAMPLE / "lineage_merge.yml", environ={}))


def test_the_next_question_is_about_a_dataset_of_both_sides(sample: Path) -> None:
    found = as_json(".")

    nodes, edges = graph(written())
    (asked,) = [each for each in nodes if each.endswith(f".{found['dataset']}")]
    upstream, waiting = {asked}, [asked]
    while waiting:
        target = waiting.pop()
        sources = {start for start, label, end in edges if label == "feeds" and end == target} - upstream
        upstream |= sources
        waiting += sources
    assert any("|s3://" in each for each in upstream)
    assert found["next"][1] == f"lineage-merge upstream {found['dataset']} -c lineage_merge.yml"


def test_no_spark_is_imported(sample: Path) -> None:
    assert "pyspark" not in python_imports(PROGRAM, "init", ".", "--yes", "--quiet")


def test_several_captures_and_their_jobs_are_found(folder: Path, data: Path) -> None:
    shutil.copytree(data / "spline", folder / "exports")
    shutil.copytree(data / "dbt" / "redshift_v12", folder / "project" / "target")

    found = as_json(".")

    assert {each["name"] for each in found["jobs"]} == {
        "seed_queries",
        "tickit_sales_ingest",
        "tickit_sales_load",
        "tpch_queries",
    }
    assert found["settings"]["spline"] == {"export": "exports"}
    assert found["joined"]["same-name"] == 2


def test_openlineage_events_join_dbt(folder: Path, data: Path) -> None:
    shutil.copytree(data / "openlineage" / "events", folder / "events")
    shutil.copytree(data / "dbt" / "redshift_v12", folder / "target")

    found = as_json("--openlineage", "events", "--dbt", "target/manifest.json")

    assert found["dbt"][0]["namespace"] == WAREHOUSE
    assert set(found["dbt"][0]["matched"]) == {"dev.public.event", "dev.public.sales"}
    assert found["joined"]["same-name"] == 2


def test_files_of_splines_agent_join_dbt(folder: Path, data: Path) -> None:
    agent, manifest = (
        data / "agent" / "tickit_sales_load.jsonl.gz",
        data / "dbt" / "redshift_v12" / "manifest.json",
    )

    found = as_json("--spline-agent", agent, "--dbt", manifest)

    assert found["settings"]["spline"] == {"agent": str(agent)}
    assert found["joined"]["same-name"] == 2


def test_hive_alone_gives_a_configuration(folder: Path, data: Path) -> None:
    found = as_json("--hive", data / "hive" / "hive-lineage.log", "--dag", "warehouse")

    assert {each["name"] for each in found["jobs"]} >= {"dw.city_rank", "dw.daily", "dw.user_orders"}
    assert (written().dag_name, found["dataset"]) == ("warehouse", "v_big")


def test_sql_files_are_joined_with_dbt(sample: Path) -> None:
    (sample / "sql").mkdir()
    (sample / "sql" / "report.sql").write_text(
        "create table dev.reports.daily as select eventname from dev.tickit_marts.fct_sales;"
    )

    found = as_json(".", "--sql", "sql", "--sql-dialect", "redshift")

    assert found["settings"]["sql"] == [{"path": "sql", "dialect": "redshift", "namespace": WAREHOUSE}]
    assert found["joined"]["same-name"] == 3


def test_a_folder_is_searched_for_all_kinds_of_sources(folder: Path, data: Path) -> None:
    shutil.copytree(data / "spline" / "tickit_sales_load", folder / "lineage" / "spline")
    shutil.copytree(data / "openlineage" / "events", folder / "lineage" / "events")
    shutil.copytree(data / "hive", folder / "logs")
    shutil.copytree(data / "dbt" / "redshift_v12", folder / "project" / "target")
    shutil.copytree(data / "dbt" / "redshift_v12", folder / "project" / "dbt_packages" / "other" / "target")
    (folder / "package.json").write_text('{"name": "x"}')
    (folder / "app.log").write_text("started\n")

    settings = as_json(".")["settings"]

    assert settings["spline"] == {"export": "lineage/spline"}
    assert settings["openlineage"] == {"events": "lineage/events"}
    assert settings["hive"] == {"log": "logs"}
    assert [each["manifest"] for each in settings["dbt"]] == ["project/target/manifest.json"]


def test_files_of_splines_agent_are_found_and_an_export_takes_precedence(folder: Path, data: Path) -> None:
    (folder / "agent").mkdir()
    for name in ("tickit_sales_ingest.jsonl.gz", "tickit_sales_load.jsonl.gz"):
        shutil.copyfile(data / "agent" / name, folder / "agent" / name)
    found = as_json(".")
    shutil.copytree(data / "spline" / "tickit_sales_load", folder / "export")
    with_export = as_json(".", "--out", "other.yml")

    assert found["settings"]["spline"] == {"agent": "agent"}
    assert {each["name"] for each in found["jobs"]} == {"tickit_sales_ingest", "tickit_sales_load"}
    assert with_export["settings"]["spline"] == {"export": "export"}
    assert with_export["notes"] == ["agent: files of Spline's agent, not used"]


def test_catalog_and_run_results_beside_the_manifest_are_used(folder: Path, data: Path) -> None:
    shutil.copytree(data / "dbt" / "duckdb_v12", folder / "target")
    (folder / "target" / "run_results.json").write_text('{"metadata": {}}')

    outcome = init(".")

    assert outcome.code == 0, outcome.err
    (project,) = written().sources["dbt"]
    assert Path(project.catalog).name == "catalog.json"
    # Not dbt's run results: it is left out, and named.
    assert project.run_results == ()
    assert "run_results.json" in outcome.out


def test_two_manifests_of_one_project_get_targets(folder: Path, data: Path) -> None:
    shutil.copytree(data / "spline" / "tickit_sales_load", folder / "spline")
    for target, capture in (("dev", "duckdb_v12"), ("prod", "redshift_v12")):
        shutil.copytree(data / "dbt" / capture, folder / target / "target")

    found = as_json(".")

    assert {(each["manifest"], each.get("target")) for each in found["settings"]["dbt"]} == {
        ("dev/target/manifest.json", "dev"),
        ("prod/target/manifest.json", "prod"),
    }
    assert {each["adapter"]: each["is_known"] for each in found["dbt"]} == {"duckdb": False, "redshift": True}
    assert written().sources["dbt"][1].namespace == WAREHOUSE


def test_locations_in_s3(s3: S3, folder: Path, data: Path) -> None:
    export = s3.put_folder("lineage", "spline", SAMPLE / "spline" / "tickit_sales_load")
    manifest = s3.put("lineage", "dbt/manifest.json", SAMPLE / "dbt" / "manifest.json")
    s3.put("lineage", "dbt/catalog.json", data / "dbt" / "duckdb_v12" / "catalog.json")

    named = as_json("--spline-export", export, "--dbt", manifest)
    searched = as_json("s3://lineage", "--out", "other.yml")

    assert named["settings"]["dbt"] == [
        {"manifest": manifest, "namespace": WAREHOUSE, "catalog": "s3://lineage/dbt/catalog.json"}
    ]
    assert searched["settings"] == named["settings"]
    assert named["joined"]["same-name"] == 2
    assert written().sources["spline"] == written("other.yml").sources["spline"]


def test_the_live_database(arango: ArangoServer, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = arango.database("tickit_sales_load", SAMPLE / "spline" / "tickit_sales_load")
    monkeypatch.setenv("SPLINE_PASSWORD", arango.password)
    flags = ["--spline-arango", arango.url, "--spline-database", name, "--spline-username", arango.username]

    outcome = init(".", *flags, "--spline-password-env", "SPLINE_PASSWORD")

    assert outcome.code == 0, outcome.err
    text = Path("lineage_merge.yml").read_text()
    assert yaml.safe_load(text)["spline"]["arango"] == {
        "hosts": arango.url,
        "database": name,
        "username": arango.username,
        "password_env": "SPLINE_PASSWORD",
    }
    assert not arango.password or arango.password not in text + outcome.out
    assert "joined: 2 datasets (" in outcome.out


def test_an_unknown_user_of_the_database_is_an_error_with_remedy(
    arango: ArangoServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = arango.database("spline", SAMPLE / "spline" / "tickit_sales_load")
    monkeypatch.setenv("SPLINE_PASSWORD", "wrong-secret")

    flags = ["--spline-arango", arango.url, "--spline-database", name, "--spline-username", arango.username]
    outcome = init(*flags, "--spline-password-env", "SPLINE_PASSWORD")

    assert outcome.code == 3
    assert "rejects user" in outcome.err
    assert "Fix: give --spline-username" in outcome.err
    assert "wrong-secret" not in outcome.err
    assert not Path("lineage_merge.yml").exists()


def answer(monkeypatch: pytest.MonkeyPatch, *answers: str, arguments: tuple[str, ...] = ()) -> Any:
    monkeypatch.setattr(init_command, "_is_interactive", lambda: True)
    return CliRunner().invoke(main, ["init", *arguments], input="".join(f"{each}\n" for each in answers))


def test_questions_have_defaults(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Spline, dbt, DAG, environment, endpoint
    result = answer(monkeypatch, "", "", "", "", "")

    assert result.exit_code == 0, result.output
    config = written()
    assert (config.dag_name, config.environment, config.gremlin.endpoint) == ("tickit", "dev", "embedded")
    assert config.sources["dbt"][0].namespace == WAREHOUSE


def test_answers_take_precedence(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = "wss://neptune.example.com:8182/gremlin"
    result = answer(monkeypatch, "y", "y", "nightly", "prod", endpoint)

    assert result.exit_code == 0, result.output
    config = written()
    assert (config.dag_name, config.environment, config.gremlin.endpoint) == ("nightly", "prod", endpoint)


def test_a_source_that_is_not_found_is_asked_for(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sample / "spline").rename(sample.parent / "elsewhere")
    elsewhere = str(sample.parent / "elsewhere")

    # dbt, Spline's location, DAG, environment, endpoint
    result = answer(monkeypatch, "", elsewhere, "", "", "")

    assert result.exit_code == 0, result.output
    assert written().sources["spline"].export == elsewhere


def test_sources_of_options_are_not_asked_about(
    sample: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(data / "hive", sample / "logs")

    # Spline, Hive; DAG, environment, endpoint
    result = answer(monkeypatch, "y", "n", "", "", "", arguments=(".", "--dbt", "dbt/manifest.json"))

    assert result.exit_code == 0, result.output
    assert "use it?" in result.output
    assert "dbt/manifest.json: use it?" not in result.output
    assert set(written().sources) == {"spline", "dbt"}


def test_an_unknown_namespace_is_asked_for_until_it_is_one(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(data / "dbt" / "redshift_v12", folder / "target")

    # Spline: none; dbt; DAG, environment; a JDBC URL and a namespace; endpoint
    flags = ("--dbt", "target/manifest.json")
    result = answer(
        monkeypatch, "", "", "jdbc:redshift://wh:5439/dev", "redshift://wh.eu-west-1", "", arguments=flags
    )

    assert result.exit_code == 0, result.output
    assert "not a namespace but a JDBC URL" in result.output
    assert written().sources["dbt"][0].namespace == "redshift://wh.eu-west-1:5439"


def test_an_interrupted_question_writes_nothing(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = answer(monkeypatch)

    assert result.exit_code == 130
    assert not Path("lineage_merge.yml").exists()


def test_an_existing_file_is_replaced_only_on_request(sample: Path) -> None:
    assert init(".").code == 0
    before = Path("lineage_merge.yml").read_text()

    unchanged = init(".")
    refused = init(".", "--environment", "prod")
    now = Path("lineage_merge.yml").read_text()
    replaced = init(".", "--environment", "prod", "--force")

    assert (unchanged.code, refused.code, replaced.code) == (0, 2, 0)
    assert now == before
    assert {"-environment: dev", "+environment: prod"} <= set(refused.err.splitlines())
    assert "Fix: --force" in refused.err
    assert written().environment == "prod"


def test_the_shown_difference_has_no_password(sample: Path) -> None:
    Path("lineage_merge.yml").write_text("gremlin:\n  endpoint: wss://root:hunter2@graph:8182/gremlin\n")

    outcome = init(".")

    assert outcome.code == 2
    assert "-gremlin:" in outcome.err
    assert "hunter2" not in outcome.err


def test_the_file_may_be_in_another_folder(sample: Path) -> None:
    found = as_json(".", "--out", "conf/dev/lineage.yml", "--gremlin-endpoint", "ws://graph:8182/gremlin")

    config = written("conf/dev/lineage.yml")
    assert (config.sources["spline"].export, config.gremlin.endpoint) == (
        str(sample / "spline"),
        "ws://graph:8182/gremlin",
    )
    assert found["next"] == [
        "lineage-merge run -c conf/dev/lineage.yml",
        "lineage-merge upstream dim_people -c conf/dev/lineage.yml",
        "lineage-merge html --out lineage.html -c conf/dev/lineage.yml",
    ]


WRONG = {
    "catalog given as manifest": (
        ["--dbt", "target/catalog.json"],
        3,
        ("not a dbt manifest, but a dbt catalog. Fix: --dbt target/manifest.json\n",),
    ),
    "folder given as manifest": (
        ["--dbt", "target"],
        3,
        ("a folder, not a file", "Fix: --dbt target/manifest.json"),
    ),
    "missing manifest": (
        ["--dbt", "nothing.json"],
        3,
        ("nothing.json: no such file", "Fix: --dbt target/manifest.json"),
    ),
    "export beside": (
        ["--spline-export", "target"],
        3,
        ("no collections of Spline", "Fix: --spline-export spline"),
    ),
    "export missing": (
        ["--spline-export", "spline/no"],
        3,
        ("no such folder", "Fix: --spline-export spline"),
    ),
    "empty folder": (["empty"], 2, ("no source found in empty", "Fix:")),
    "missing folder": (["absent"], 3, ("absent: no such folder",)),
    "unreachable database": (
        ["--spline-arango", "http://127.0.0.1:1"],
        3,
        ("no connection to ArangoDB at http://127.0.0.1:1", "Fix: correct --spline-arango"),
    ),
    "password in the URL": (
        ["--spline-arango", "http://root:hunter2@127.0.0.1:1"],
        2,
        ("use username and password_env",),
    ),
    "password in the endpoint": (
        ["--dbt", "target/manifest.json", "--gremlin-endpoint", "wss://root:hunter2@graph:8182/gremlin"],
        2,
        ("--gremlin-endpoint: contains a user or password", "LINEAGE_MERGE_GREMLIN_ENDPOINT"),
    ),
    "password variable unset": (
        ["--spline-arango", "http://127.0.0.1:1", "--spline-password-env", "UNSET_VARIABLE"],
        2,
        ("environment variable", "Fix: export"),
    ),
    "user without database": (["--spline-username", "x"], 2, ("need --spline-arango",)),
    "two Splines": (["--spline-export", "a", "--spline-arango", "http://b"], 2, ("give one of",)),
    "namespace is a JDBC URL": (
        ["--dbt", "target/manifest.json", "--dbt-namespace", "jdbc:redshift://a:1/b"],
        2,
        ("--dbt-namespace: not a namespace but a JDBC URL",),
    ),
    "DAG name": (["--dbt", "target/manifest.json", "--dag", "my dag"], 2, ("dag_name", "letters")),
    "manifest given as events": (
        ["--openlineage", "target/manifest.json"],
        3,
        ("target/manifest.json: not an OpenLineage event, but a dbt manifest",),
    ),
    "SQL given as log": (["--hive", "sql"], 3, ("sql: no lineage found, but a SQL file. Fix: --sql sql",)),
    "missing log": (["--hive", "no.log"], 3, ("no.log", "Fix: correct --hive")),
    "manifest given as agent's file": (
        ["--spline-agent", "target/manifest.json"],
        3,
        ("target/manifest.json: no lineage found, but a dbt manifest. Fix: --dbt target/manifest.json",),
    ),
    "Spline's export given as agent's files": (
        ["--spline-agent", "spline"],
        3,
        ("spline: no lineage found, but documents of Spline's database. Fix: --spline-export spline\n",),
    ),
    "misspelt export": (
        ["--spline-export", "splin"],
        3,
        ("splin: no such folder; did you mean spline?\n",),
    ),
    "missing agent's files": (["--spline-agent", "no"], 3, ("no", "Fix: correct --spline-agent")),
    "file in S3": (
        ["--dbt", "target/manifest.json", "--out", "s3://b/k.yml"],
        2,
        ("--out: expected a local file",),
    ),
    "folder as file": (
        ["--dbt", "target/manifest.json", "--out", "target"],
        2,
        ("--out: cannot read target",),
    ),
    "SQL without namespace": (["--sql", "sql", "--sql-dialect", "redshift"], 2, ("sql[0].namespace",)),
    "missing SQL": (["--sql", "no-sql"], 3, ("no-sql", "Fix: correct --sql")),
}


@pytest.mark.parametrize(("flags", "code", "parts"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_one_line_with_a_remedy(
    flags: list[str], code: int, parts: tuple[str, ...], folder: Path, data: Path
) -> None:
    shutil.copytree(data / "dbt" / "duckdb_v12", folder / "target")
    shutil.copytree(data / "spline" / "tickit_sales_load", folder / "spline")
    (folder / "empty").mkdir()
    (folder / "sql").mkdir()
    (folder / "sql" / "a.sql").write_text("create table b as select * from a;")

    outcome = init(*flags)

    assert (outcome.code, len(outcome.err.splitlines())) == (code, 1), outcome.err
    for part in parts:
        assert part in outcome.err
    assert "hunter2" not in outcome.err
    assert not Path("lineage_merge.yml").exists()


def test_missing_credentials_of_s3_are_an_error_with_remedy(
    s3_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # it remembers credentials

    outcome = init("--spline-export", "s3://lineage/spline")

    assert outcome.code == 3
    fix = "attach a role, run aws sso login, or set AWS_PROFILE"
    assert outcome.err == f"error: s3://lineage/spline: no AWS credentials found: {fix}\n"


def test_nothing_joins_and_the_reasons_are_printed(folder: Path, data: Path) -> None:
    spline = SplineDatabase()
    spline.plan("load", reads=["s3://raw/a"], writes=JDBC.replace("public.event", "other.table"), at=1)
    spline.write(folder / "spline")
    shutil.copytree(data / "dbt" / "redshift_v12", folder / "target")

    outcome = init(".")

    assert outcome.code == 0, outcome.err
    assert "joined: nothing" in outcome.out
    assert f"dev|{WAREHOUSE}|dev.public.event: dbt reads it, nothing writes it" in outcome.out
    # The only Redshift of Spark's side is the best guess.
    assert written().sources["dbt"][0].namespace == WAREHOUSE
    assert "CHECK" in Path("lineage_merge.yml").read_text()


def test_a_wrong_namespace_is_a_near_miss_with_its_fix(folder: Path, data: Path) -> None:
    shutil.copytree(SAMPLE / "spline", folder / "spline")
    shutil.copytree(SAMPLE / "dbt", folder / "target")

    wrong = WAREHOUSE.replace("us-east-1", "eu-west-1")
    outcome = init(".", "--dbt-namespace", wrong)

    lines = [line.strip() for line in outcome.out.splitlines()]
    assert f"written  {WAREHOUSE}|dev.public.event" in lines
    assert f"read     {wrong}|dev.public.event" in lines
    fix = "\n".join(outcome.out.partition("Fix: ")[2].partition("\n\n")[0].splitlines()[1:])
    assert yaml.safe_load(fix)["dbt"][0]["namespace"] == WAREHOUSE
    assert yaml.safe_load(fix)["merge"] == {"default_schemas": {WAREHOUSE: "dev.public"}}


def test_a_given_namespace_is_compared_with_the_tables_of_spark(folder: Path, data: Path) -> None:
    """A temporary directory is joined in any namespace: it is no evidence for the given one."""
    shutil.copytree(SAMPLE / "spline", folder / "spline")
    shutil.copytree(SAMPLE / "dbt", folder / "target")
    wrong = WAREHOUSE.replace("us-east-1", "eu-west-1")
    evidence = "Spark's lineage has dev.public.event, dev.public.sales"

    found = init(".", "--dbt-namespace", wrong)
    text = Path("lineage_merge.yml").read_text()
    correct = init(".", "--dbt-namespace", WAREHOUSE, "--force")

    assert f"  namespace {wrong}, as given: {evidence} in {WAREHOUSE}" in found.out.splitlines()
    comments = " ".join(line.strip().removeprefix("# ") for line in text.splitlines())
    assert f"CHECK: as given. {evidence} in {WAREHOUSE}." in comments
    assert f"  namespace {WAREHOUSE}: {evidence}" in correct.out.splitlines()
    assert "CHECK" not in Path("lineage_merge.yml").read_text()


def spline_with_loads(folder: Path, *tables: tuple[str, str]) -> None:
    """An export with a load into each of these tables, by cluster."""
    spline = SplineDatabase()
    for number, (cluster, table) in enumerate(tables):
        uri = f"jdbc:redshift://{cluster}.abc.us-east-1.redshift.amazonaws.com:5439/dev:{table}"
        spline.plan(f"load_{number}", reads=["s3://raw/a"], writes=uri, at=number)
    spline.write(folder / "spline")


def test_warehouses_with_the_same_tables_are_named_in_the_file(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spline_with_loads(folder, ("blue", "public.event"), ("green", "public.event"))
    shutil.copytree(data / "dbt" / "redshift_v12", folder / "target")

    found = as_json(".", "--out", "guessed.yml")
    # Spline, dbt, DAG, environment; the namespace; endpoint
    chosen = answer(monkeypatch, "", "", "", "", "redshift://green.us-east-1:5439", "")

    assert found["dbt"][0]["alternatives"] == ["redshift://green.us-east-1:5439"]
    text = Path("guessed.yml").read_text()
    assert "# CHECK: several namespaces of Spark's lineage have dev.public.event." in text
    assert "# Others: redshift://green.us-east-1:5439" in text
    assert chosen.exit_code == 0, chosen.output
    assert written().sources["dbt"][0].namespace == "redshift://green.us-east-1:5439"


def test_one_source_alone_is_enough_for_a_configuration(sample: Path) -> None:
    outcome = init("--spline-export", "spline")

    assert outcome.code == 0, outcome.err
    assert "Spline is the only source" in outcome.out
    assert written().dag_name == sample.name.replace("[", "_").replace("]", "")


def distribute_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = ConfigReader.parse

    def parse_with_limit(*args: Any, **given: Any) -> Config:
        config: Config = parse(*args, **given)
        return replace(config, spark=SparkOptions(distribute_above_mb=0))

    monkeypatch.setattr(ConfigReader, "parse", parse_with_limit)


def test_large_sources_are_sampled_and_not_verified(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if the captures were larger than the limit.
    distribute_everything(monkeypatch)

    found = as_json(".")

    assert found["checked"] is False
    assert found["dbt"][0]["namespace"] == WAREHOUSE
    assert {each["name"] for each in found["jobs"]} == {"tickit_sales_ingest", "tickit_sales_load"}


def test_a_large_database_is_sampled(
    arango: ArangoServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribute_everything(monkeypatch)
    monkeypatch.setenv("SPLINE_PASSWORD", arango.password)
    name = arango.database("spline", SAMPLE / "spline" / "tickit_sales_load")
    flags = ["--spline-database", name, "--spline-username", arango.username]
    flags += ["--spline-password-env", "SPLINE_PASSWORD", "--dbt", str(SAMPLE / "dbt" / "manifest.json")]

    found = as_json("--spline-arango", arango.url, *flags)

    assert [each["name"] for each in found["jobs"]] == ["tickit_sales_load"]
    assert set(found["dbt"][0]["matched"]) == {"dev.public.event", "dev.public.sales"}
    assert found["settings"]["merge"] == {"default_schemas": {WAREHOUSE: "dev.public"}}


def test_the_transcript_of_the_documentation_is_real(sample: Path) -> None:
    document = Path(__file__).parents[2] / "docs" / "init.md"
    transcript, configuration = (
        document.read_text().partition(f"```{language}\n")[2].partition("```\n")[0]
        for language in ("console", "yaml")
    )
    command, _, output = transcript.partition("\n")

    assert command == "$ lineage-merge init . --yes --quiet"
    assert in_process(*command.split()[2:]).out == output
    assert Path("lineage_merge.yml").read_text() == configuration
