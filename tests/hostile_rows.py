"""Names and texts that a file format may trip over, as node and edge rows."""

from typing import Any

TEXTS = (
    'she said "yes", then left',
    '"',
    '","',
    "a;b;c",
    "ends with a backslash\\",
    "\\;\\",
    "two\nlines",
    "windows\r\nlines",
    "a carriage\rreturn",
    "\n",
    " blank before and after ",
    "\ttab\t",
    "销售额、每天",
    "مبيعات \u202eabc",
    "emoji 👩‍👩‍👧 and \ufeff mark",
    "null",
    "'single'",
    "#comment",
    "~id",
    "name:String",
    "50% |pipe|",
    "$" + "x" * 100_000,
    "\u2028line separator\x0b\x0c\x1f",
)

Row = dict[str, Any]


def rows() -> tuple[list[Row], list[Row]]:
    """Tables named so, each with a set of all such texts, and a chain of edges between them."""
    keys = {"environment": "dev", "dag_name": "daily"}
    nodes: list[Row] = [
        {
            **keys,
            "id": f"dev|wh|{text[:200]}",
            "label": "table",
            "name": text,
            "description": text[::-1],
            "tags": [text, *TEXTS[number : number + 3]] if number % 2 else None,
            "aliases": ["one", "two"] if number % 3 else [],
        }
        for number, text in enumerate(TEXTS)
    ]
    edges = [
        {
            **keys,
            "id": f"e{number}",
            "label": "feeds",
            "from": nodes[number - 1]["id"],
            "to": node["id"],
            "job_type": "spark",
            "job_name": node["name"],
            "operations": node["description"] if number % 2 else None,
            "sequence": -number,
        }
        for number, node in enumerate(nodes)
        if number
    ]
    return nodes, edges
