"""JSON of the consequences of a change; fields are only added."""

from collections.abc import Sequence
from typing import Any

from lineage_merge.questions.affected_tests import AffectedTest
from lineage_merge.questions.dependents import Dependent, Dependents
from lineage_merge.questions.ownership import Ownership

_LISTS = ("datasets", "indirectly_affected", "columns", "jobs", "exposures")


def impact_as_json(found: Dependents, tests: Sequence[AffectedTest]) -> dict[str, Any]:
    """Return the fields of an impact::

        {"counts": {"datasets": 2, ...}, "datasets": ["<id>", ...], ..., "dags": ["tickit_daily"],
         "effects": {"breaks": 1, "changes": 0, "depends": 4, "unaffected": 0},
         "affected": [{"id": "<id>", "kind": "column", "label": "column", "title": "orders#amount",
                       "distance": 1, "effect": "breaks", "owners": [], "dags": ["tickit_daily"],
                       "exposure_type": null, "url": null,
                       "uses": [{"column": "<id>", "transformation": "AGGREGATION",
                                 "expression": "sum(amount)", "job": "load"}]}],
         "tests": [{"id": "<id>", "name": "not_null_amount", "assertion_type": "not_null",
                    "status": "passed", "checks": ["<id>"], "distance": 1, "effect": "depends",
                    "owners": []}]}

    `effects` and `effect` are null unless a change is given.
    """
    lists = {key: [each.id for each in getattr(found.impact, key)] for key in _LISTS}
    return {
        "counts": found.impact.counts,
        **lists,
        "dags": list(found.impact.dags),
        "effects": {each.value: number for each, number in found.effects.items()} or None,
        "affected": [_element(each) for each in found.elements],
        "tests": [_test(each) for each in tests],
    }


def ownership_as_json(found: Ownership) -> dict[str, Any]:
    """Return the fields of owners::

    {"owners": [{"owner": "ada@example.com", "distance": 1,
                 "counts": {"dataset": 1, "column": 3, "job": 1, "exposure": 0},
                 "nearest": ["orders"], "dags": ["tickit_daily"], "affected": ["<id>", ...]}],
     "without_owner": [{"id": "<id>", "kind": "dataset", ...}]}
    """
    return {
        "owners": [
            {
                "owner": each.owner,
                "distance": each.distance,
                "counts": each.counts,
                "nearest": list(each.nearest),
                "dags": list(each.dags),
                "affected": [element.vertex.id for element in each.affected],
            }
            for each in found.owners
        ],
        "without_owner": [_element(each) for each in found.without_owner],
    }


def _element(found: Dependent) -> dict[str, Any]:
    held = found.vertex.properties
    return {
        "id": found.vertex.id,
        "kind": found.kind,
        "label": found.vertex.label,
        "title": found.vertex.title,
        "distance": found.distance,
        "effect": found.effect.value if found.effect else None,
        "owners": list(held.get("owners", ())),
        "dags": list(found.vertex.dags),
        "exposure_type": held.get("exposure_type"),
        "url": held.get("url"),
        "uses": [
            {
                "column": each.from_id,
                "transformation": each.properties.get("transformation"),
                "expression": each.properties.get("expression"),
                "job": each.job or None,
            }
            for each in found.uses
        ],
    }


def _test(found: AffectedTest) -> dict[str, Any]:
    held = found.vertex.properties
    return {
        "id": found.vertex.id,
        "name": found.vertex.name,
        "assertion_type": held.get("assertion_type"),
        "status": held.get("status"),
        "checks": list(found.checks),
        "distance": found.distance,
        "effect": found.effect.value if found.effect else None,
        "owners": list(held.get("owners", ())),
    }
