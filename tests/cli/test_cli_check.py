"""The command `check`: formats, exit codes, selection, hostile names."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from lineage_merge.model.times import FORM
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.command_line import Outcome, in_process
from tests.hostile_rows import TEXTS
from tests.lineage_made import MadeLineage
from tests.policy_pipeline import POLICIES, corrected, settings, violating

TEXT_OF_XML = "a<b>&\"'\x00\x1b[31m]]>\ud800 ∞"


def ask(made: MadeLineage, folder: Path, *arguments: str, **config: Any) -> Outcome:
    file = folder / "lineage_merge.yml"
    file.write_text(yaml.safe_dump(settings() | config, sort_keys=False), encoding="utf-8")
    lineage = folder / "lineage"
    if not lineage.exists():
        made.folder(lineage)
    return in_process("check", "--config", file, "--folder", lineage, *arguments)


def test_violations_are_listed_by_policy_with_path_and_fix(tmp_path: Path) -> None:
    outcome = ask(violating(), tmp_path, "--policy", "no-pii-in-marts", "--policy", "staging-is-tested")
    assert outcome.code == 14
    assert outcome.err == "error: policies are violated: 1 error and 1 warning of 2 policies\n"
    lines = [line.rstrip() for line in outcome.out.splitlines()]
    fix = "drop, hash or mask the column on the path, declare where the tag stops in `propagation`"
    accept = 'or accept it: add "wh.marts.customers#mail" to except of no-pii-in-marts'
    assert lines[:10] == [
        "no-pii-in-marts (error)",
        "all analysts read marts",
        "  wh.marts.customers#mail carries pii of s3://lake/customers#email",
        "      s3://lake/customers#email",
        "      → wh.staging.customers#email (IDENTITY, job load)",
        "      → wh.marts.customers#mail (TRANSFORMATION: lower(email), job load)",
        f"    Fix: {fix}; {accept}",
        "",
        "staging-is-tested (warning)",
        "  wh.staging.customers has no test",
    ]
    assert lines[-2].split() == ["no-pii-in-marts", "error", "5", "1"]


@pytest.mark.parametrize("output", ["table", "json", "sarif", "junit"])
def test_the_exit_code_depends_on_errors_only(tmp_path: Path, output: str) -> None:
    assert ask(violating(), tmp_path, "--format", output).code == 14
    assert ask(violating(), tmp_path, "--format", output, "--policy", "staging-is-tested").code == 0


@pytest.mark.parametrize("output", ["table", "json", "sarif", "junit"])
def test_the_corrected_pipeline_passes(tmp_path: Path, output: str) -> None:
    outcome = ask(corrected(), tmp_path, "--format", output)
    assert (outcome.code, outcome.err) == (0, "no violations: 0 errors and 0 warnings of 12 policies\n")


def test_json_is_typed(tmp_path: Path) -> None:
    output = json.loads(ask(violating(), tmp_path, "--json").out)
    assert (output["question"], output["environment"], output["dag"]) == ("check", "dev", None)
    assert output["summary"] == {"policies": 12, "errors": 11, "warnings": 1, "passed": False}
    policies = {each["name"]: each for each in output["policies"]}
    assert list(policies) == [each["name"] for each in POLICIES]
    (violation,) = policies["marts-read-no-raw"]["violations"]
    assert (violation["title"], violation["label"], violation["file_path"]) == (
        "wh.marts.churn",
        "table",
        None,
    )
    assert [(each["to_title"], each["job"], each["dag"]) for each in violation["path"]] == [
        ("wh.tmp.view", "churn", "daily"),
        ("wh.marts.churn", "churn", "daily"),
    ]
    ids = {each["id"] for each in output["vertices"]}
    assert {end for each in output["edges"] for end in (each["from"], each["to"])} <= ids
    (missing,) = policies["forecast-has-a-contract"]["violations"]
    assert missing["id"] is None


def test_sarif_has_a_rule_per_policy_and_a_result_per_violation(tmp_path: Path) -> None:
    made = violating()
    made.dataset("wh.marts.churn", "daily", file_path="models\\marts\\churn 1.sql")
    more = {"name": "unmatched", "datasets": "*.nothing.*", "must_have": "owner"}
    log = json.loads(ask(made, tmp_path, "--format", "sarif", policies=[*POLICIES, more]).out)
    assert (log["version"], log["$schema"].rpartition("/")[2]) == ("2.1.0", "sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [each["id"] for each in rules] == [*(each["name"] for each in POLICIES), "unmatched"]
    assert len(run["results"]) == 12
    for each in run["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
        assert each["level"] == rules[each["ruleIndex"]]["defaultConfiguration"]["level"]
        assert each["message"]["text"]
    by_rule = {each["ruleId"]: each for each in run["results"]}
    assert [each["level"] for each in run["results"]].count("warning") == 1
    (churn,) = by_rule["marts-read-no-raw"]["locations"]
    assert churn["physicalLocation"]["artifactLocation"]["uri"] == "models/marts/churn%201.sql"
    assert churn["logicalLocations"] == [{"fullyQualifiedName": "wh.marts.churn", "kind": "resource"}]
    (customers,) = by_rule["no-pii-in-marts"]["locations"]
    assert "physicalLocation" not in customers
    (flow,) = by_rule["no-pii-in-marts"]["codeFlows"][0]["threadFlows"]
    assert [each["location"]["logicalLocations"][0]["fullyQualifiedName"] for each in flow["locations"]] == [
        "s3://lake/customers#email",
        "wh.staging.customers#email",
        "wh.marts.customers#mail",
    ]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "no dataset matches *.nothing.*"
    assert note["associatedRule"] == {"id": "unmatched", "index": 12}


def test_fingerprints_stay_equal_and_differ_between_violations(tmp_path: Path) -> None:
    logs = [json.loads(ask(violating(), tmp_path, "--format", "sarif").out) for _ in range(2)]
    first, second = ([each["partialFingerprints"] for each in log["runs"][0]["results"]] for log in logs)
    assert first == second
    assert len({each["lineageMerge/v1"] for each in first}) == 12


def test_junit_has_a_case_per_violation_and_per_policy_without_one(tmp_path: Path) -> None:
    more = [
        {"name": "unmatched", "datasets": "*.nothing.*", "must_have": "owner"},
        {"name": "owned", "datasets": "wh.marts.*", "must_have": "owner"},
    ]
    outcome = ask(violating(), tmp_path, "--format", "junit", policies=[*POLICIES, *more])
    root = ElementTree.fromstring(outcome.out)
    counts = ("tests", "failures", "errors", "skipped")
    assert [root.get(each) for each in counts] == ["14", "11", "0", "2"]
    cases = {
        (case.get("classname"), case.get("name"), tuple(each.tag for each in case))
        for case in root.iter("testcase")
    }
    assert {
        ("no-pii-in-marts", "wh.marts.customers#mail", ("failure",)),
        ("staging-is-tested", "wh.staging.customers", ("skipped",)),
        ("unmatched", "0 checked", ("skipped",)),
        ("owned", "5 checked", ()),
    } <= cases
    failure = root.find("./testsuite[@name='no-pii-in-marts']/testcase/failure")
    assert failure is not None
    assert failure.get("type") == "must_not_reach"
    assert "→ wh.marts.customers#mail (TRANSFORMATION: lower(email), job load)" in (failure.text or "")


@pytest.mark.parametrize("output", ["table", "json", "sarif", "junit"])
def test_hostile_names_give_valid_output(tmp_path: Path, output: str) -> None:
    made = MadeLineage()
    made.dataset("s3://lake|raw", "daily", label="file")
    for number, text in enumerate((*TEXTS, TEXT_OF_XML)):
        name = f"wh.marts.m{number}"
        # Ids with an unpaired surrogate cannot exist.
        made.flow(f"s3://lake|raw > {name}", job=text.replace("\ud800", "?"))
        made.dataset(name, "daily", qualified_name=f"wh.marts.{text}", file_path=text)
    policies = [
        {"name": "a", "layer": "mart", "must_not_read": "raw", "description": "<b>"},
        {"name": "b", "datasets": "wh.marts.*", "must_have": "test"},
    ]
    outcome = ask(made, tmp_path, "--format", output, policies=policies)
    assert outcome.code == 14
    outcome.out.encode("utf-8")
    expected = 2 * len(TEXTS) + 2
    if output == "junit":
        assert len(list(ElementTree.fromstring(outcome.out).iter("failure"))) == expected
    elif output == "sarif":
        assert len(json.loads(outcome.out)["runs"][0]["results"]) == expected
    elif output == "json":
        assert json.loads(outcome.out)["summary"]["errors"] == expected
    else:
        assert not set("\x1b\x00\u202e") & set(outcome.out)


@pytest.mark.parametrize("output", ["json", "sarif", "junit"])
def test_a_file_has_the_format_and_the_table_is_printed(tmp_path: Path, output: str) -> None:
    file = tmp_path / "policies"
    outcome = ask(violating(), tmp_path, "--format", output, "--out", str(file))
    assert outcome.code == 14
    assert file.read_text(encoding="utf-8") == ask(violating(), tmp_path, "--format", output).out
    assert outcome.out == ask(violating(), tmp_path).out
    assert ask(violating(), tmp_path, "--out", str(file)).code == 2


def test_an_unknown_policy_is_suggested(tmp_path: Path) -> None:
    outcome = ask(violating(), tmp_path, "--policy", "no-pii-in-mart")
    assert outcome.code == 2
    assert "--policy: unknown policy: no-pii-in-mart; did you mean no-pii-in-marts" in outcome.err


def test_a_configuration_without_policies_is_an_error(tmp_path: Path) -> None:
    outcome = ask(violating(), tmp_path, policies=[])
    assert outcome.code == 2
    assert "policies: is missing; example: [{name: no-pii-in-marts" in outcome.err


def test_an_unknown_environment_is_no_success(tmp_path: Path) -> None:
    outcome = ask(violating(), tmp_path, "--environment", "prdo", "--policy", "no-pii-in-marts")
    assert outcome.code == 9
    assert "unknown environment: prdo" in outcome.err


def test_a_check_of_nothing_is_noted(tmp_path: Path) -> None:
    policy = {"name": "a", "datasets": "*.nothing.*", "must_have": "owner"}
    outcome = ask(violating(), tmp_path, policies=[policy])
    assert (outcome.code, outcome.err) == (
        0,
        "no violations: 0 errors and 0 warnings of 1 policy; nothing was checked\n",
    )
    assert "no dataset matches *.nothing.*" in outcome.out


KINDS = ["must_not_reach", "must_not_read", "must_have", "must_be_fed_by", "must_be_updated_within"]
INVALID = {
    f"policies[0]: requires {', '.join(KINDS[:-1])} or {KINDS[-1]}",
    "policies[1].name: duplicate name: a",
    "policies[1]: must_not_reach and must_have are mutually exclusive: write one policy for each",
    "policies[2].tag: is missing: must_not_reach requires it; example: tag: pii",
    "policies[2].layer: is not a key of a policy with must_not_reach",
    f"policies[4].must_be_updated_within: expected {FORM}, found 2 fortnights",
    "policies[3].layer: unknown layer: marts; did you mean mart?",
    "policies[3].must_not_read: unknown layer: bronze; query.layers has raw, staging, mart",
}


def test_all_errors_of_policies_are_reported_at_once(tmp_path: Path) -> None:
    policies = [
        {"name": "a"},
        {"name": "a", "tag": "x", "must_not_reach": "*", "must_have": "owner"},
        {"name": "c", "must_not_reach": "*", "layer": "mart"},
        {"name": "d", "layer": "marts", "must_not_read": ["raw", "bronze"]},
        {"name": "e", "datasets": "*", "must_be_updated_within": "2 fortnights"},
    ]
    outcome = ask(violating(), tmp_path, policies=policies)
    assert outcome.code == 2
    found = {line.partition(": ")[2] for line in outcome.err.splitlines()}
    assert found == INVALID


def test_layers_must_be_declared(tmp_path: Path) -> None:
    outcome = ask(violating(), tmp_path, query={}, policies=[POLICIES[3]])
    assert outcome.code == 2
    assert "policies[0].layer: no layers are declared; example: query: {layers:" in outcome.err


def test_the_examples_of_the_schema_are_valid_policies() -> None:
    (example,) = CONFIGURATION.schema["properties"]["policies"]["examples"]
    parsed = CONFIGURATION.parse(settings(example), needs_source=False).policies
    assert [each.kind for each in parsed] == KINDS


def test_a_fix_is_one_line_with_a_glob_to_copy(tmp_path: Path) -> None:
    name = f"wh.marts.{'long_' * 60}name"
    made = MadeLineage().flow(f"wh.staging.a > {name}")
    policies = [{"name": "marts-are-owned", "datasets": "*.marts.*", "must_have": ["owner", "test"]}]
    outcome = ask(made, tmp_path, policies=policies)
    (fix,) = (line for line in outcome.out.splitlines() if line.startswith("    Fix: "))
    assert fix.endswith(f'or accept it: add "{name}" to except of marts-are-owned')
