"""The text of a configuration: short, commented, and read back unchanged."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from lineage_merge.model.elements import Reference
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.init.configuration_text import text
from lineage_merge.orchestration.init.findings import Findings, JobFindings, ObservedJob
from lineage_merge.orchestration.init.proposal import Proposal, propose
from lineage_merge.sources.discovery import ProjectFindings, SourceInput

TARGET = "dbt/target"
WAREHOUSE = "redshift://sales.us-east-1:5439"
REFERENCES = frozenset(
    {
        Reference("", "jdbc:redshift://sales.abc.us-east-1.redshift.amazonaws.com:5439/dev:public.items"),
        # Spark's Redshift connector writes through a directory that names the table without its database.
        Reference("", "s3://glue/temporary/redshift/public.orders/0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611"),
    }
)


def inputs(**locations: str | tuple[str, ...]) -> dict[str, SourceInput]:
    keys = {"spline": "export", "dbt": "manifest", "hive": "log", "sql": "path"}
    return {
        source: SourceInput(keys[source], (value,) if isinstance(value, str) else value)
        for source, value in locations.items()
    }


def project(location: str = f"{TARGET}/manifest.json", **beside: str) -> ProjectFindings:
    return ProjectFindings(
        "dbt",
        location,
        "shop",
        "redshift",
        sources=frozenset({"dev.public.orders", "dev.public.items"}),
        schemas=("dev.public",),
        beside=beside,
    )


def proposed(
    sources: dict[str, SourceInput], *projects: ProjectFindings, **given: str
) -> tuple[Proposal, Findings]:
    jobs = JobFindings(jobs=(ObservedJob("spline", "load", 0),), references=REFERENCES)
    findings = Findings(jobs, projects)
    return propose(sources, findings, **given), findings


def uncommented(written: str) -> list[str]:
    return [line for line in written.splitlines() if line and not line.lstrip().startswith("#")]


def test_every_mapping_is_a_block_and_no_line_is_long(tmp_path: Path) -> None:
    login = {"username": "reader", "password_env": "SPLINE_PASSWORD"}
    arango = {"hosts": "http://arangodb:8529", "database": "spline", **login}
    known = project(catalog=f"{TARGET}/catalog.json", run_results=f"{TARGET}/run_results.json")

    proposal, findings = proposed(
        {"spline": SourceInput("arango", settings=arango), **inputs(dbt=known.location)}, known
    )
    written = text(proposal, findings, Path())

    assert uncommented(written)[-3:] == ["merge:", "  default_schemas:", f"    {WAREHOUSE}: dev.public"]
    assert "{" not in written
    assert yaml.safe_load(written) == proposal.settings(Path())
    assert proposal.settings()["merge"] == {"default_schemas": {WAREHOUSE: "dev.public"}}
    assert max(len(line) for line in written.splitlines()) <= 120


def test_all_artifacts_beside_a_manifest_are_in_the_configuration() -> None:
    files = {"catalog": "catalog.json", "run_results": "run_results.json", "sources": "sources.json"}
    known = project(**{key: f"{TARGET}/{name}" for key, name in files.items()})
    proposal, _ = proposed(inputs(dbt=known.location), known)
    (entry,) = proposal.settings()["dbt"]
    assert {key: entry[key] for key in ("catalog", "run_results", "sources")} == {
        "catalog": f"{TARGET}/catalog.json",
        "run_results": f"{TARGET}/run_results.json",
        "sources": f"{TARGET}/sources.json",
    }


@pytest.mark.parametrize(
    "name", ["a: b", "- a", "#a", "'a'", '"a"', "yes", "1.0", "ä/ö", "{a}", "*a", "a # b", "a\tb", "null"]
)
def test_any_path_is_read_back(name: str, tmp_path: Path) -> None:
    sources = inputs(spline=name, hive=(name, f"{name}2"), dbt=name)
    proposal, findings = proposed(sources, project(name))

    file = tmp_path / "lineage_merge.yml"
    file.write_text(text(proposal, findings, Path()), encoding="utf-8")
    config = CONFIGURATION.load(file, environ={})

    assert config.sources["spline"].export == str(tmp_path / name)
    assert config.sources["dbt"][0].manifest == str(tmp_path / name)
    assert config.sources["hive"].log == (str(tmp_path / name), str(tmp_path / f"{name}2"))


def test_names_of_documents_cannot_leave_their_comment() -> None:
    jobs = JobFindings(jobs=(ObservedJob("spline", "load\ndag_name: evil", 0),))
    known = ProjectFindings(
        "dbt",
        "m.json",
        "shop\nstrict: true",
        "redshift\rx: 1",
        schemas=("a\u2028b: c", "\ud800", "\u0085d: e"),
    )
    findings = Findings(jobs, (known,))
    proposal = propose(inputs(spline="spline", dbt="m.json"), findings)

    written = text(proposal, findings, Path())
    assert yaml.safe_load(written) == proposal.settings(Path())
    assert written.encode().decode().replace("\n", "").isprintable()


def test_many_applications_are_counted_and_some_named() -> None:
    jobs = JobFindings(jobs=tuple(ObservedJob("spline", f"job_{n}", 0) for n in range(120)))
    findings = Findings(jobs)

    written = text(propose(inputs(spline="spline"), findings), findings, Path())

    assert "# 120 applications found: job_0, job_1, job_2, job_3, job_4, ..." in written
    assert "spline.applications" in written


def test_tables_in_glues_catalog_get_a_hint() -> None:
    findings = Findings(projects=(ProjectFindings("dbt", "m.json", "shop", "athena"),))

    written = text(propose(inputs(dbt="m.json"), findings), findings, Path())

    assert "# glue:\n#   - region: us-east-1\n" in written


@pytest.mark.parametrize(
    ("project_name", "jobs", "folder", "expected"),
    [
        ("shop", ("a", "b"), "work", "shop"),
        ("", ("only job",), "work", "only_job"),
        ("", ("a", "b"), "my work (2)", "my_work_2"),
        ("", (), "", "lineage"),
        ("店", (), "店", "lineage"),
    ],
)
def test_the_default_dag_name_is_valid(
    project_name: str, jobs: tuple[str, ...], folder: str, expected: str
) -> None:
    manifests = (ProjectFindings("dbt", "m.json", project_name, "redshift"),) if project_name else ()
    found = JobFindings(jobs=tuple(ObservedJob("spline", each, 0) for each in jobs))

    proposal = propose(inputs(spline="s"), Findings(found, manifests), folder_name=folder)

    assert proposal.dag_name == expected
    CONFIGURATION.parse(proposal.settings())


def test_sql_files_have_the_namespace_of_the_dbt_project_on_their_platform() -> None:
    sources = {
        "sql": SourceInput("path", ("sql",), {"dialect": "redshift"}),
        **inputs(dbt="m.json"),
    }
    proposal, _ = proposed(sources, project("m.json"))

    assert proposal.settings()["sql"] == [{"path": "sql", "dialect": "redshift", "namespace": WAREHOUSE}]


def statements(*projects: ProjectFindings) -> str:
    sources = {"query_log": SourceInput("path", ("log",), {"format": "statements"})}
    if projects:
        sources |= inputs(dbt=tuple(each.location for each in projects))
    proposal, findings = proposed(sources, *projects)
    CONFIGURATION.parse(proposal.settings())
    return text(proposal, findings, Path()).partition("query_log:\n")[2].partition("dbt:")[0]


def test_a_log_of_statements_has_the_warehouse_of_the_only_project() -> None:
    entry = f"  - path: log\n    format: statements\n    dialect: redshift\n    namespace: {WAREHOUSE}\n"
    on_sql_server = replace(project("b.json"), platform="sqlserver", project="other")

    assert statements(project()) == entry
    assert "    dialect: tsql\n    namespace: mssql://" in statements(on_sql_server)
    for unknown in ((), (project(), on_sql_server)):
        assert statements(*unknown).startswith(
            "  # CHECK: a query log does not name its warehouse, set dialect and namespace.\n  - path: log\n"
        )


def test_a_given_namespace_takes_precedence() -> None:
    given = "redshift://other.eu-west-1:5439"
    proposal, _ = proposed(inputs(dbt="m.json"), project("m.json"), namespace=given)

    assert [(each.choice.namespace, each.choice.is_known) for each in proposal.projects] == [(given, True)]


def test_manifests_of_one_project_with_equal_relations_need_no_target() -> None:
    first, second = project("a/manifest.json"), project("b/manifest.json")
    proposal, _ = proposed(inputs(dbt=(first.location, second.location)), first, second)

    assert [each.target for each in proposal.projects] == ["", ""]
