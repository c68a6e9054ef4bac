"""A plan of producer API 1 as Spline's server stores it: its mapper for that version, by its source.

An expression has a random key, and its class only where the agent gives one; an alias is called "alias" and
has its name in its parameters; a binary operator is called by its symbol. No attribute says by which
expression it is made; `derivesFrom` is found for four kinds of operations.
"""

import uuid
from collections.abc import Iterator
from typing import Any

from lineage_merge.sources.spline.agent.plans import documents
from tests.spline_documents import Document

_GIVEN = ("expr.Generic", "expr.GenericLeaf", "expr.UntypedExpression")


def stored(plan: Document) -> dict[str, list[Document]]:
    """The documents of a plan of version 1.0 by collection."""
    key = str(plan["id"])
    found = documents(plan)
    renamed: dict[str, str] = {}
    unions: set[str] = set()
    for expression in found.get("expression", ()):
        extra = expression["extra"]
        if expression.get("name") == "union" and not extra:
            unions.add(f"expression/{expression['_key']}")
        own = f"{key}:{uuid.uuid5(uuid.NAMESPACE_OID, expression['_key'])}"
        renamed[f"expression/{expression['_key']}"] = f"expression/{own}"
        expression["_key"] = own
        if extra.get("_typeHint") not in _GIVEN:
            extra.pop("simpleClassName", None)
        if extra.get("_typeHint") == "expr.Alias":
            expression["name"] = "alias"
        if extra.get("_typeHint") == "expr.Binary":
            expression["name"] = extra["symbol"]
    unions_stored = {renamed[each] for each in unions}
    found["expression"] = [
        each for each in found.get("expression", ()) if f"expression/{each['_key']}" not in unions_stored
    ]
    for collection in ("uses", "takes"):
        for edge in found.get(collection, ()):
            edge["_from"] = renamed.get(edge["_from"], edge["_from"])
            edge["_to"] = renamed.get(edge["_to"], edge["_to"])
        found[collection] = [each for each in found.get(collection, ()) if each["_from"] not in unions_stored]
    found.pop("computedBy", None)
    found["derivesFrom"] = [
        {
            "_key": f"{number}",
            "_belongsTo": f"executionPlan/{key}",
            "_from": f"attribute/{key}:{attribute}",
            "_to": f"attribute/{key}:{source}",
        }
        for number, (attribute, source) in enumerate(_dependencies(plan))
        if attribute != source
    ]
    return found


def _dependencies(plan: Document) -> Iterator[tuple[str, str]]:
    operations = {each["id"]: each for each in plan["operations"].get("reads") or ()}
    operations |= {each["id"]: each for each in plan["operations"].get("other") or ()}
    for operation in operations.values():
        params, schema = operation.get("params") or {}, operation.get("schema") or []
        name = operation["extra"].get("name")
        if name in ("Project", "Aggregate"):
            expressions = params["projectList" if name == "Project" else "aggregateExpressions"]
            for attribute, expression in zip(schema, expressions, strict=True):
                yield from ((attribute, each) for each in sorted(_attributes(expression)))
        elif name == "SubqueryAlias":
            below = operations[operation["childIds"][0]].get("schema") or []
            yield from zip(schema, below, strict=False)
        elif name == "Generate" and params.get("generatorOutput"):
            first = params["generatorOutput"][0]["refId"]
            yield from ((first, each) for each in sorted(_attributes(params["generator"])))


def _attributes(expression: Any) -> set[str]:
    if expression["_typeHint"] == "expr.AttrRef":
        return {str(expression["refId"])}
    children = [expression["child"]] if expression.get("child") else expression.get("children") or []
    return set().union(*map(_attributes, children))
