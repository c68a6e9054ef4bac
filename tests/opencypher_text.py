"""Which constructs of an openCypher query Neptune's documentation does not list. Pure.

The lists are those of "openCypher specification compliance in Amazon Neptune", of clauses those that read.
What needs a newer engine than 1.2.0.2, the first in which queries can name an id, is left out, such as `CALL`
subqueries (1.4.1.0).
"""

import re
from collections.abc import Iterator

_KEYWORDS = frozenset(
    "MATCH OPTIONAL RETURN WITH UNWIND WHERE ORDER BY ASC DESC SKIP LIMIT UNION ALL DISTINCT AS"
    " IS NULL NOT STARTS ENDS CONTAINS AND OR XOR IN CASE WHEN THEN ELSE END TRUE FALSE".split()
)
# Of openCypher 9, for future use: no name without quotes.
_RESERVED = frozenset("ADD CONSTRAINT DO DROP FOR MANDATORY OF REQUIRE SCALAR UNIQUE".split())
_FUNCTIONS = frozenset(
    "exists coalesce endNode head id last length properties size startNode toBoolean toFloat toInteger type"
    " avg collect count max min percentileDisc stDev percentileCont stDevP sum"
    " keys labels nodes range relationships reverse tail abs ceil floor round sign"
    " left lTrim replace right rTrim split substring toLower toString toUpper trim".split()
)
_TOKEN = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*') | (?P<name>`[^`]+`) | (?P<comment>//[^\n]*) | (?P<word>[A-Za-z_]\w*)
    | (?P<number>\d+) | (?P<symbol><>|<=|>=|\.\.|[-+*/%=<>.,:|(){}\[\]]) | (?P<space>\s+)""",
    re.VERBOSE,
)
# In a query with each name as `x`, each value as `1`, and no comments.
_UNDOCUMENTED = {
    "a subquery or map projection": r"(?<![(\[:])\bx\s*\{",
    "an index into a list": r"[x)\]]\s*\[(?!:)",
    "a pattern comprehension": r"\[\s*(?:x\s*=\s*)?\(",
    "an expression of labels": r"\(\s*x?\s*:[^){]*\|",
    "a condition within a pattern": r"\(\s*x?\s*(?::\s*x\s*)?(?:\{[^}]*\})?\s*WHERE\b",
    "a quantified path": r"\)\s*\{|\)\s*\)\s*[+*]",
    "a variable in the properties of a variable-length pattern": r"\*[1.]*\s*\{[^}]*:\s*x",
}


def undocumented(query: str) -> Iterator[str]:
    """Yield what Neptune does not document, in words."""
    plain, at = "", 0
    while at < len(query):
        token = _TOKEN.match(query, at)
        if token is None:
            yield f"the character {query[at]}"
            at += 1
            continue
        at = token.end()
        text = token[0]
        match token.lastgroup:
            case "word" if text.upper() in _KEYWORDS:
                plain += text.upper()
            case "word":
                if query[at:].lstrip().startswith("("):
                    if text not in _FUNCTIONS:
                        yield f"the function {text}"
                elif text.isupper():
                    yield f"the keyword {text}"
                elif text.upper() in _RESERVED:
                    yield f"the reserved word {text} as a name"
                plain += "x"
            case "name":
                plain += "x"
            case "text" | "number":
                plain += "1"
            case "symbol" | "space":
                plain += text
    yield from (name for name, pattern in _UNDOCUMENTED.items() if re.search(pattern, plain))
