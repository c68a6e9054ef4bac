"""The configuration: read once, validated against its JSON Schema, passed down.

Three layers, later ones take precedence: YAML file, environment variables, flags. Keys are the fields of
`Config` and of the settings of sources (`infra.setting`). The names of variables and flags are derived from
the keys (``spline.arango.hosts``: ``LINEAGE_MERGE_SPLINE_ARANGO_HOSTS``, ``--spline-arango-hosts``). Sources
and exporters are injected (`orchestration.configuration`).
"""

from lineage_merge.config.config_reader import ConfigReader
from lineage_merge.config.policies import Policy
from lineage_merge.config.propagation import Cleared, Propagation
from lineage_merge.config.section import Key, format_default
from lineage_merge.config.settings import (
    NO_HISTORY,
    Bulk,
    Config,
    DismissedNearMiss,
    Expect,
    Gremlin,
    History,
    Load,
    Log,
    Merge,
    MetadataRule,
    QuerySettings,
    Rule,
    SparkOptions,
    parse_default_schema,
    split_dataset,
)
from lineage_merge.infra.graph_files import EMBEDDED
from lineage_merge.infra.telemetry import Metrics

__all__ = [
    "EMBEDDED",
    "NO_HISTORY",
    "Bulk",
    "Cleared",
    "Config",
    "ConfigReader",
    "DismissedNearMiss",
    "Expect",
    "Gremlin",
    "History",
    "Key",
    "Load",
    "Log",
    "Merge",
    "MetadataRule",
    "Metrics",
    "Policy",
    "Propagation",
    "QuerySettings",
    "Rule",
    "SparkOptions",
    "format_default",
    "parse_default_schema",
    "split_dataset",
]
