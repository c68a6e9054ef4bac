"""Declaration of the Spline source: the server's database, exported or live, or the agents' files."""

import re

from lineage_merge.sources.source import InitOption, Kind, LineFiles, Source, files_option
from lineage_merge.sources.spline.settings import LOCATION_KEYS, parse

# The agent that our own listener names.
LISTENER = "lineage-merge"


def is_of_listener(body: object) -> bool:
    """Return whether a plan is one of our own listener (`lineage_merge.capture.install`)."""
    agent = body.get("agentInfo") if isinstance(body, dict) else None
    return isinstance(agent, dict) and agent.get("name") == LISTENER


EXPORT = Kind(
    "documents of Spline's database",
    "give the folder of the collections as spline.export",
    (("_key", "_id"), ("_key", "_belongsTo"), ("_key", "_rev")),
)
AGENT = Kind(
    "messages of a Spline agent",
    "give them as spline.agent",
    (("planId", "timestamp"), ("executionPlan", "executionEvent"), ("id", "operations")),
    lambda document: (
        isinstance(document, list)
        and len(document) > 1
        and document[0] in ("plan", "event")
        and not is_of_listener(document[1])
    ),
    re.compile(
        r"Execution(?:Plan|Event) \(apiVersion"
        rf'|\[\s*"(?:plan|event)"\s*,\s*(?!\{{"agentInfo":\{{"name":"{LISTENER}")[\[{{]'
    ),
)


SPLINE = Source(
    "Spline",
    "spline",
    "lineage_merge.sources.spline",
    parse,
    "lineage_merge.sources.spline.reader:read_spline",
    size="lineage_merge.sources.spline.inspection:size",
    paths=("export", "agent", "kafka.landing"),
    preflight="lineage_merge.sources.spline.inspection:preflight",
    checks="lineage_merge.sources.spline.doctor:CHECKS",
    files=lambda spline: (spline.export, *spline.agent),
    needs_aws=lambda spline: bool(spline.arango and spline.arango.password_secret),
    with_secrets=lambda spline: spline.with_secrets(),
    has_raw_uris=True,
    retire_after=lambda spline: spline.retire_after,
    job_types=("spark",),
    kinds=(EXPORT, AGENT),
    options=(
        InitOption(
            "--spline-export",
            "export",
            "folder of an export of Spline's database",
            "Spline export",
            is_rare=False,
        ),
        InitOption("--spline-arango", "arango", "address of Spline's ArangoDB", metavar="URL", is_rare=False),
        InitOption("--spline-database", "database", "its database  [default: spline]", metavar="NAME"),
        InitOption("--spline-username", "username", "its user  [default: root]", metavar="NAME"),
        InitOption(
            "--spline-password-env",
            "password_env",
            "environment variable with its password",
            metavar="VAR",
        ),
        files_option("--spline-agent", "agent", "files of Spline's agent"),
    ),
    discovery="lineage_merge.sources.spline.discovery:SplineDiscovery",
    line_files=LineFiles("agent", "lineage_merge.sources.spline.inspection:has_messages"),
    job_word="application",
    selected_by="applications",
    version="lineage_merge.sources.spline.inspection:version",
    sample="lineage_merge.sources.spline.inspection:sample",
    how_to_create=(
        "export Spline's database with arangoexport --type jsonl, one file per collection, into this folder"
    ),
    location_keys=LOCATION_KEYS,
    airflow="lineage_merge.sources.spline.airflow_support:SUPPORT",
)
