"""Whether an IAM policy allows a call of AWS's API. Pure: of conditions, those that deploy/ has.

Runs in environments with Airflow too, and so imports nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

# Names of services in IAM, and actions, that differ from botocore's.
_ACTIONS = {
    "s3:HeadObject": "s3:GetObject",
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:DeleteObjects": "s3:DeleteObject",
}


class Need(NamedTuple):
    """What a call needs: an action on a resource, with the values that conditions ask for."""

    action: str
    resource: str
    context: Mapping[str, str]


def needs(service: str, operation: str, parameters: Mapping[str, Any]) -> Iterator[Need]:
    """Give what a call of botocore needs. An unknown service needs a resource that no policy names."""
    action = _ACTIONS.get(f"{service}:{operation}", f"{service}:{operation}")
    match service:
        case "s3":
            bucket = f"arn:aws:s3:::{parameters['Bucket']}"
            many = parameters.get("Delete", {}).get("Objects", [])
            keys = [each["Key"] for each in many] or [parameters.get("Key")]
            for key in keys:
                resource = f"{bucket}/{key}" if key else bucket
                yield Need(action, resource, {"s3:prefix": str(parameters.get("Prefix", ""))})
        case "glue":
            job = parameters.get("JobName") or parameters["Name"]
            yield Need(action, f"arn:aws:glue:eu-west-1:111122223333:job/{job}", {})
        case "datazone":
            domain = f"arn:aws:datazone:eu-west-1:111122223333:domain/{parameters['domainIdentifier']}"
            yield Need(action, domain, {})
        case "iam":
            yield Need(action, f"arn:aws:iam::111122223333:role/{parameters['RoleName']}", {})
        case "logs":
            group = parameters.get("logGroupName") or parameters["logGroupIdentifier"]
            yield Need(action, f"arn:aws:logs:eu-west-1:111122223333:log-group:{group}", {})
        case "secretsmanager":
            name = f"arn:aws:secretsmanager:eu-west-1:111122223333:secret:{parameters['SecretId']}"
            yield Need(action, name, {})
        case "redshift-data":
            cluster = parameters.get("ClusterIdentifier")
            resource = f"arn:aws:redshift:eu-west-1:111122223333:cluster:{cluster}" if cluster else "*"
            owner = {"redshift-data:statement-owner-iam-userid": "${aws:userid}"}
            yield Need(action, resource, owner)
            if "DbUser" in parameters:
                of_cluster = f"arn:aws:redshift:eu-west-1:111122223333:dbuser:{cluster}"
                yield Need("redshift:GetClusterCredentials", f"{of_cluster}/{parameters['DbUser']}", {})
        case "sts":
            return  # GetCallerIdentity needs no right
        case _:
            yield Need(action, "unknown", {})
    if "Role" in parameters:
        yield Need("iam:PassRole", parameters["Role"], {"iam:PassedToService": f"{service}.amazonaws.com"})


def allows(statements: Iterable[Mapping[str, Any]], need: Need) -> bool:
    """Whether a statement of a policy allows what is needed."""
    return any(
        statement["Effect"] == "Allow"
        and need.action in _listed(statement["Action"])
        and any(_matches(pattern, need.resource) for pattern in _listed(statement["Resource"]))
        and _met(statement.get("Condition", {}), need.context)
        for statement in statements
    )


def _met(conditions: Mapping[str, Mapping[str, Any]], context: Mapping[str, str]) -> bool:
    return all(
        operator in ("StringEquals", "StringLike")
        and key in context
        and any(_matches(pattern, context[key]) for pattern in _listed(patterns))
        for operator, keys in conditions.items()
        for key, patterns in keys.items()
    )


def _matches(pattern: str, value: str) -> bool:
    return fnmatchcase(value, re.sub(r"\[", "[[]", pattern))


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
