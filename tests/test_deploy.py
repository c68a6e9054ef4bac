"""deploy/ by cfn-lint, which knows the resources' schemas and every action of IAM."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from cfnlint.api import lint

from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.publish import SCRIPT
from lineage_merge.orchestration.publish.wheel_files import GLUE_PYTHONS
from lineage_merge.receiver import aws_lambda

DEPLOY = Path(__file__).parents[1] / "deploy"
TEMPLATES = sorted((DEPLOY / "cloudformation").glob("*.yaml"))
POLICIES = sorted((DEPLOY / "iam").glob("*.json"))

# Values for the placeholders of the policies.
FILLED = {
    "AWS::Partition": "aws",
    "AWS::Region": "eu-west-1",
    "AWS::AccountId": "111122223333",
    "Bucket": "lineage",
    "ArtifactsPrefix": "artifacts",
    "FolderPrefix": "folders",
    "BulkPrefix": "bulk",
    "HistoryPrefix": "history",
    "SourcesBucket": "sources",
    "SourcesPrefix": "dbt",
    "GlueDatabases": "tickit_*",
    "JobName": "lineage_merge",
    "SubnetId": "subnet-0123456789abcdef0",
    "NeptuneClusterResourceId": "cluster-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "ArangoSecretArn": "arn:aws:secretsmanager:eu-west-1:111122223333:secret:arango-AbCdEf",
    "AirflowSecretsPrefix": "airflow",
    "JobRole": "lineage-merge-glue",
    "QueryLogPrefix": "query_log",
    "EventLogBucket": "logs",
    "EventLogPrefix": "spark-events",
    "EventLogCachePrefix": "spark-events-read",
    "RedshiftCluster": "wh",
    "RedshiftWorkgroupId": "0f3e7d0a-6e4b-4d4e-9c7b-1f2d3c4b5a69",
    "RedshiftUser": "lineage",
    "RedshiftDatabase": "dw",
    "aws:userid": "${aws:userid}",  # a variable of IAM
    "DataZoneDomainId": "dzd_4abcdefghijklm",
    "LandingPrefix": "received",
    "TokenSecretArn": "arn:aws:secretsmanager:eu-west-1:111122223333:secret:receiver-AbCdEf",
    "FunctionName": "lineage-receiver",
    "KmsKeyArn": "arn:aws:kms:eu-west-1:111122223333:key/0f3e7d0a-6e4b-4d4e-9c7b-1f2d3c4b5a69",
}
# Actions that the linter does not list, although QuickSight asks for them.
UNLISTED = ("'describeanalysisdefinition'", "'describedashboarddefinition'")
DATAZONE_READS = ("datazone:GetLineageEvent", "datazone:ListLineageEvents", "datazone:Search")


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short functions, of which only the text is parsed."""


def _text(loader: _Loader, node: yaml.Node) -> object:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    assert isinstance(node, yaml.SequenceNode)
    return loader.construct_sequence(node)


for _tag in ("!Ref", "!Sub", "!GetAtt", "!If", "!Not", "!Equals"):
    _Loader.add_constructor(_tag, _text)


def template(name: str = "lineage_merge") -> Any:
    return yaml.load((DEPLOY / "cloudformation" / f"{name}.yaml").read_text(), _Loader)


def policies_of(resources: Any, name: str) -> Any:
    """The first policy of a role, or a policy, with the statements that are optional there."""
    properties = resources[name]["Properties"]
    document = properties.get("PolicyDocument") or properties["Policies"][0]["PolicyDocument"]
    # !If, its condition, the statement, nothing.
    statements = [each[1] if isinstance(each, list) else each for each in document["Statement"]]
    return document | {"Statement": statements}


def written(stem: str) -> Any:
    return json.loads((DEPLOY / "iam" / f"{stem}.json").read_text())


def filled(text: str) -> Any:
    return json.loads(re.sub(r"\$\{([A-Za-z:]+)\}", lambda found: FILLED[found[1]], text))


def flaws(document: dict[str, Any]) -> list[str]:
    return [f"{match.rule.id} {match.message}" for match in lint(json.dumps(document), regions=["eu-west-1"])]


def of_policy(name: str, policy: Any) -> dict[str, Any]:
    """A template around a policy."""
    if name.endswith(".trust"):
        resource: dict[str, Any] = {
            "Type": "AWS::IAM::Role",
            "Properties": {"AssumeRolePolicyDocument": policy},
        }
    else:
        resource = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": policy}}
    return {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"Policy": resource}}


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.stem)
def test_a_template_has_no_flaws(file: Path) -> None:
    assert [str(match) for match in lint(file.read_text(), regions=["us-east-1", "eu-central-1"])] == []


@pytest.mark.parametrize("file", POLICIES, ids=lambda file: file.stem)
def test_a_policy_has_no_flaws(file: Path) -> None:
    found = flaws(of_policy(file.stem, filled(file.read_text())))
    assert [flaw for flaw in found if not any(action in flaw for action in UNLISTED)] == []


def test_an_action_that_there_is_not_would_be_found() -> None:
    text = (DEPLOY / "iam" / "glue_job.json").read_text().replace("ReadDataViaQuery", "ReadDataViaQuerry")

    assert [flaw[:5] for flaw in flaws(of_policy("glue_job", filled(text)))] == ["W3037"]


@pytest.mark.parametrize("file", POLICIES, ids=lambda file: file.stem)
def test_no_policy_allows_more_than_it_names(file: Path) -> None:
    statements = filled(file.read_text())["Statement"]

    for statement in statements:
        actions = [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]
        assert not any("*" in action for action in actions)
        if statement.get("Resource") == "*":
            # EC2, DataZone and QuickSight know no resources for these, the Data API only who began a
            # statement.
            own = "redshift-data:statement-owner-iam-userid" in str(statement.get("Condition"))
            assert own or all(
                action.startswith(("ec2:Describe", "quicksight:List")) or action in DATAZONE_READS
                for action in actions
            )
    if file.stem == "neptune_loader":
        assert "PutObject" not in file.read_text()


def test_the_templates_hold_the_same_policies() -> None:
    resources = template()["Resources"]
    receiver = template("receiver")["Resources"]
    # Of people, and of options.
    others = ("publisher", "redshift_", "datazone_", "event_log_reader", "quicksight_")

    assert {file.stem: written(file.stem) for file in POLICIES if not file.stem.startswith(others)} == {
        "glue_job": policies_of(resources, "JobRole"),
        "glue_job.trust": resources["JobRole"]["Properties"]["AssumeRolePolicyDocument"],
        "neptune_loader": policies_of(resources, "NeptuneLoaderRole"),
        "neptune_loader.trust": resources["NeptuneLoaderRole"]["Properties"]["AssumeRolePolicyDocument"],
        "mwaa_execution": policies_of(resources, "AirflowPolicy"),
        "receiver": policies_of(receiver, "Role"),
        "receiver.trust": receiver["Role"]["Properties"]["AssumeRolePolicyDocument"],
    }


def test_the_receiver_starts_a_handler_that_there_is_with_variables_that_it_reads() -> None:
    resources = template("receiver")["Resources"]
    function = resources["Function"]["Properties"]
    module, _, name = function["Handler"].rpartition(".")
    variables = function["Environment"]["Variables"]

    assert callable(getattr(importlib.import_module(module), name))
    assert variables.keys() <= {aws_lambda._LANDING, aws_lambda._TOKEN_SECRET}
    # Several versions in one answer; and only failed messages again, after six times the timeout.
    assert resources["Integration"]["Properties"]["PayloadFormatVersion"] == "1.0"
    assert resources["Messages"]["Properties"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert resources["Queue"]["Properties"]["VisibilityTimeout"] >= 6 * function["Timeout"]


def test_the_job_starts_what_is_published_with_flags_that_there_are() -> None:
    job = template()["Resources"]["Job"]["Properties"]

    assert (job["WorkerType"], job["Command"]["Name"]) == ("G.1X", "glueetl")
    assert template()["Parameters"]["GlueVersion"]["AllowedValues"] == list(GLUE_PYTHONS)
    assert job["Command"]["ScriptLocation"].rpartition("/")[2] == SCRIPT.name
    flags = {key.flag for key in CONFIGURATION.settable}
    glues_own = {
        "--additional-python-modules",
        "--enable-continuous-cloudwatch-log",
        "--enable-metrics",
        "--job-language",
        "--python-modules-installer-option",
    }
    assert set(job["DefaultArguments"]) - glues_own <= flags


def test_only_neptunes_and_arangos_ports_are_opened_to_the_job() -> None:
    resources = template()["Resources"]
    rules = {
        name: (each["Properties"]["FromPort"], each["Properties"]["GroupId"])
        for name, each in resources.items()
        if each["Type"] == "AWS::EC2::SecurityGroupIngress"
    }

    assert rules == {
        "JobToItselfIn": (0, "JobSecurityGroup"),
        "NeptuneFromJob": (8182, "NeptuneSecurityGroupId"),
        "ArangoFromJob": (8529, "ArangoSecurityGroupId"),
    }
    assert {resources[name]["Properties"]["SourceSecurityGroupId"] for name in rules} == {"JobSecurityGroup"}
