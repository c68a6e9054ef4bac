"""Parsing of a file's text into statements. Pure; needs sqlglot."""

import logging
import re
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.scripts.clauses import complete_inserts, name_tables_of_tsql
from lineage_merge.column_lineage.scripts.control_flow import ControlFlow
from lineage_merge.column_lineage.scripts.statements import Statement, Unread
from lineage_merge.column_lineage.scripts.variables import Variables
from lineage_merge.column_lineage.sql import parsing
from lineage_merge.column_lineage.sql.parsing import run_with_deep_stack
from lineage_merge.column_lineage.sql.platforms import TSQL, platform_of
from lineage_merge.column_lineage.sql.text import reason

_UNLOAD = re.compile(
    r"unload\s*\(\s*(?P<query>'(?:[^'\\]|\\.|'')*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)\s*\)\s*to\s*'(?P<path>[^']*)'",
    re.IGNORECASE | re.DOTALL,
)
# Athena's, whose query is no string.
_PLAIN_UNLOAD = re.compile(
    r"unload\s*\((?P<query>\s*(?:select|with)\b.*)\)\s*to\s*'(?P<path>[^']*)'", re.IGNORECASE | re.DOTALL
)
_APPEND = re.compile(r"alter\s+table\s+(?P<target>\S+)\s+append\s+from\s+(?P<source>\S+)", re.IGNORECASE)
_EXCHANGE = re.compile(
    r"alter\s+table\s+(?P<target>\S+)\s+exchange\s+partition\s*\(.*\)\s*with\s+table\s+(?P<source>\S+)",
    re.IGNORECASE | re.DOTALL,
)
_CALL = re.compile(r"call\s+(?P<name>[^(]*[^(\s])", re.IGNORECASE)
_CREATES_TEMPORARY = re.compile(r"create\s+(?:local\s+)?temp", re.IGNORECASE)
# Words of these that the parser does not know.
_LOCAL = re.compile(r"(?<=create)\s+local\b", re.IGNORECASE)
_ON_COMMIT_DROP = re.compile(r"\bon\s+commit\s+drop\b", re.IGNORECASE)
_TRUNCATES = re.compile(r"truncate\b", re.IGNORECASE)
_UNSUPPORTED = re.compile(r"(?:do|execute)\b", re.IGNORECASE)
_DOLLARS = re.compile(r"\$\w*\$")


@dataclass(frozen=True, slots=True)
class Unload:
    """Redshift's UNLOAD: a query's rows into files."""

    query: exp.Expr
    path: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Rows, or a partition, moved between tables (APPEND FROM, EXCHANGE PARTITION)."""

    target: exp.Table
    source: exp.Table


@dataclass(frozen=True, slots=True)
class Call:
    """The call of a procedure."""

    name: str


Tree = exp.Expr | Unload | Moved | Call | Unread


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement, and the line (from 1) at which it begins. `variables`, `record`: as in `Statement`."""

    line: int
    tree: Tree
    variables: Set[str] = frozenset()
    record: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """A file: its name below the root, with forward slashes, its statements and variables.

    `procedures`: the names of those that it defines, without schema (folded).
    """

    name: str
    statements: tuple[Parsed, ...]
    variables: Variables
    procedures: Set[str] = frozenset()


def parse(name: str, text: str, dialect: Dialect, known: Mapping[str, str]) -> Script:
    """Parse the relevant statements of a file. `known`: values of variables."""
    variables = Variables(known)
    plain = variables.replace_templates(text.removeprefix("\ufeff"))
    flow = ControlFlow(dialect, variables.placeholder)
    with _quiet():
        parsed = tuple(
            Parsed(
                statement.line, _tree(statement, dialect, variables), statement.variables, statement.record
            )
            for statement in flow.statements(plain)
            if not statement.is_irrelevant
        )
    return Script(name, parsed, variables, flow.procedures)


def _tree(statement: Statement, dialect: Dialect, variables: Variables) -> Tree:
    if statement.unread is not None:
        return statement.unread
    try:
        return run_with_deep_stack(lambda: _parse_tree(statement.text, dialect, variables))
    except Exception as error:  # noqa: BLE001 - a parser's own bug costs one statement, not the file
        return Unread(f"cannot be parsed: {reason(error, statement.line)}", is_broken=True)


def _parse_tree(text: str, dialect: Dialect, variables: Variables) -> Tree:
    if variables.is_variable(text.strip()):
        return Unread("contains a template whose result is unknown", is_broken=False)
    if match := _CALL.match(text):
        return Call(variables.restore_templates(match["name"]))
    if _UNSUPPORTED.match(text):
        return Unread(f"unsupported statement: {' '.join(text.split()[:3])} ...", is_broken=False)
    if match := _UNLOAD.match(text):
        return Unload(
            _one(_inner(match["query"]), dialect, variables), variables.restore_templates(match["path"])
        )
    if match := _PLAIN_UNLOAD.match(text):
        return Unload(_one(match["query"], dialect, variables), variables.restore_templates(match["path"]))
    for pattern in (_APPEND, _EXCHANGE):
        if match := pattern.match(text):
            target, source = (exp.to_table(match[end], dialect=dialect) for end in ("target", "source"))
            _restore(target, variables)
            _restore(source, variables)
            return Moved(target, source)
    known = _replace_words(text) if _CREATES_TEMPORARY.match(text) else text
    tree = _one(known, dialect, variables)
    if isinstance(tree, exp.Condition | exp.Alias | exp.Identifier) and not isinstance(tree, exp.Query):
        return Unread("cannot be parsed: not a statement", is_broken=True)
    if isinstance(tree, exp.Command) and _TRUNCATES.match(text):
        return exp.TruncateTable(expressions=[])  # with options, which no temporary table has
    if isinstance(tree, exp.Command) or (
        isinstance(tree, exp.Create) and tree.kind not in ("STAGE", "TABLE", "VIEW")
    ):
        return Unread(f"unsupported statement: {' '.join(text.split()[:3])} ...", is_broken=False)
    complete_inserts(tree)
    if platform_of(dialect) in TSQL:
        name_tables_of_tsql(tree)
    return tree


def _replace_words(text: str) -> str:
    return _ON_COMMIT_DROP.sub("", _LOCAL.sub("", text, count=1), count=1)


def _inner(quoted: str) -> str:
    if dollars := _DOLLARS.match(quoted):
        return quoted[len(dollars[0]) : -len(dollars[0])]
    return re.sub(r"''|\\(.)", lambda match: match[1] or "'", quoted[1:-1], flags=re.DOTALL)


def _one(text: str, dialect: Dialect, variables: Variables) -> exp.Expr:
    trees = parsing.parse(text, dialect)
    if len(trees) != 1:
        raise ValueError("not one statement")
    return _restore(trees[0], variables)


def _restore(tree: exp.Expr, variables: Variables) -> exp.Expr:
    """Return the tree with its variables as written; a variable in place of a value is no column."""
    if not variables.unknown:
        return tree
    for node in list(tree.find_all(exp.Identifier, exp.Literal)):
        text = variables.restore_templates(node.name)
        if text == node.name:
            continue
        column = node.parent
        is_value = isinstance(column, exp.Column) and variables.is_variable(node.name) and not column.table
        if is_value and isinstance(column, exp.Column) and column.parent is not None:
            column.replace(exp.Var(this=text))
        else:
            node.set("this", text)
    return tree


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the parser's warnings: what it cannot parse is reported as a problem."""
    logger = logging.getLogger("sqlglot")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
