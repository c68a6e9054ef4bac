"""What a statement does to names, read from its text without parsing it. Pure."""

import re
from functools import lru_cache
from typing import NamedTuple

from lineage_merge.sources.query_log.statements.write_clauses import NAME, PART, WriteClause, find_write

_MAY_EXIST = re.compile(r"\bor\s+replace\b|\bif\s+not\s+exists\b|\bon\s+commit\s+drop\b", re.IGNORECASE)
_EMPTY = re.compile(rf"(?:truncate(?:\s+table)?|delete(?:\s+from)?)\s+(?P<name>{NAME})\s*\Z", re.IGNORECASE)
_DROP = re.compile(
    rf"drop\s+(?:table|view)\s+(?:if\s+exists\s+)?(?P<names>{NAME}(?:\s*,\s*{NAME})*)", re.IGNORECASE
)
_RENAME = re.compile(
    r"(?:alter\s+(?:table|(?:materialized\s+)?view)|rename\s+table)\s+(?:if\s+exists\s+)?"
    rf"(?P<old>{NAME})\s+(?:rename\s+)?to\s+(?P<new>{NAME})",
    re.IGNORECASE,
)
_RENAME_COLUMN = re.compile(
    rf"alter\s+table\s+(?:if\s+exists\s+)?(?P<table>{NAME})\s+rename\s+column\s+"
    rf"(?P<old>{PART})\s+to\s+(?P<new>{PART})",
    re.IGNORECASE,
)
_SET_SCHEMA = re.compile(
    rf"alter\s+table\s+(?:if\s+exists\s+)?(?P<old>{NAME})\s+set\s+schema\s+(?P<schema>{PART})\s*\Z",
    re.IGNORECASE,
)
# Snowflake's exchange of the names of two tables.
_SWAP = re.compile(
    rf"alter\s+table\s+(?:if\s+exists\s+)?(?P<one>{NAME})\s+swap\s+with\s+(?P<other>{NAME})", re.IGNORECASE
)
_PATH = re.compile(
    r"set\s+(?:session\s+|(?P<local>local)\s+)?search_path\s*(?:to|=)\s*(?P<path>.*)",
    re.IGNORECASE | re.DOTALL,
)
_CONFIGURED_PATH = re.compile(
    r"select\s+(?:pg_catalog\s*\.\s*)?set_config\s*\(\s*'search_path'\s*,\s*'(?P<path>[^']*)'\s*,\s*"
    r"(?:false|(?P<local>true))\s*\)\s*\Z",
    re.IGNORECASE,
)
_RESET = re.compile(r"reset\s+(?:search_path|all)\b", re.IGNORECASE)
_USE = re.compile(rf"use\s+(?:database\s+|schema\s+|catalog\s+)?(?P<name>{NAME})\s*\Z", re.IGNORECASE)
_CALL = re.compile(rf"(?:call|exec(?:ute)?)\s+(?P<name>{NAME})", re.IGNORECASE)
# Statements that a client or a procedure sends as one.
_BLOCK = re.compile(
    r"(?:begin\s+(?!transaction\b|work\b|isolation\b|read\b|not\b)|declare\s).*;.*\bend\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_ROLLBACK = re.compile(r"(?:rollback|abort)\b", re.IGNORECASE)
_WORD = re.compile(r'[#@]?[^\W\d][\w$]*|"(?:[^"]|"")+"')
_QUERY = re.compile(r"[\s(]*(?:select|with|from|table|values)\b", re.IGNORECASE)
# BI tools read through cursors.
_CURSOR = re.compile(rf"declare\s+{PART}\s[\w\s]*?\bcursor\b[\w\s]*?\bfor\s+", re.IGNORECASE)


class Facts(NamedTuple):
    """The names that a statement creates, changes, empties, drops; names are their last parts, folded.

    `moves`: it may move data or create a table or a view. `reads`: it may read tables, which the definition
    of a view does not. `is_new`: it would fail if its temporary table existed. `unloads`: it writes files,
    which no rollback deletes; `moves_files`: it is a COPY or an UNLOAD. `words`: all names in it, and other
    words. `schema`: that of the created, changed or renamed table, "" if it is not written; `drops` are pairs
    of schema and name. `swaps`: tables that exchange their names. `search_path`: empty if it is again that
    at the beginning; `is_local`: for the transaction.
    """

    moves: bool = False
    reads: bool = False
    creates: str = ""
    is_temporary: bool = False
    is_new: bool = False
    changes: str = ""
    empties: str = ""
    drops: tuple[tuple[str, str], ...] = ()
    renames: tuple[str, str] | None = None
    swaps: tuple[str, str] | None = None
    changes_schema: bool = False
    renames_column: bool = False
    unloads: bool = False
    moves_files: bool = False
    search_path: tuple[str, ...] | None = None
    is_local: bool = False
    use: tuple[str, ...] = ()
    calls: str = ""
    is_rollback: bool = False
    words: frozenset[str] = frozenset()
    schema: str = ""
    creates_view: bool = False

    @property
    def changes_names(self) -> bool:
        """Return whether a table or a column has another name, or schema, afterwards."""
        return (
            self.renames is not None or self.swaps is not None or self.changes_schema or self.renames_column
        )


_NOTHING = Facts()


@lru_cache(maxsize=20_000)
def facts_of(text: str) -> Facts:
    """Return the facts of a statement's template."""
    facts = _facts_of_session(text)
    if facts.empties:
        return facts
    if _BLOCK.match(text):
        return Facts(True, True, words=_words(text))
    write = find_write(text)
    if write is not None:
        return _facts_of_write(text, write, facts)
    if facts is _NOTHING and (_QUERY.match(text) or _CURSOR.match(text)):
        return Facts(reads=True, words=_words(text))
    return facts


def _facts_of_session(text: str) -> Facts:
    """Return what a statement does to the names of its session, or to tables as a whole."""
    if setting := _PATH.match(text) or _CONFIGURED_PATH.match(text):
        path = tuple(name for part in setting["path"].split(",") if (name := _plain(part)))
        return Facts(search_path=() if path == ("default",) else path, is_local=bool(setting["local"]))
    if _RESET.match(text):
        return Facts(search_path=())
    if use := _USE.match(text):
        return Facts(use=_parts(use["name"]))
    if call := _CALL.match(text):
        return Facts(calls=".".join(_parts(call["name"])))
    if _ROLLBACK.match(text):
        return Facts(is_rollback=True)
    if drop := _DROP.match(text):
        return Facts(drops=tuple((_schema(name), _last(name)) for name in drop["names"].split(",")))
    if rename := _RENAME.match(text):
        return Facts(renames=(_last(rename["old"]), _last(rename["new"])), schema=_schema(rename["old"]))
    if swap := _SWAP.match(text):
        return Facts(swaps=(_last(swap["one"]), _last(swap["other"])))
    if _SET_SCHEMA.match(text):
        return Facts(changes_schema=True)
    if _RENAME_COLUMN.match(text):
        return Facts(renames_column=True)
    if emptying := _EMPTY.match(text):
        return Facts(empties=_last(emptying["name"]), schema=_schema(emptying["name"]))
    return _NOTHING


def _facts_of_write(text: str, write: WriteClause, session: Facts) -> Facts:
    """Return the facts of a statement that can write, and may change its session, too."""
    name, schema = (_last(write.name), _schema(write.name)) if write.name else ("", "")
    facts = session._replace(moves=True, reads=True, words=_words(text))
    match write.kind:
        case "create-table" | "create-view":
            is_view = write.kind == "create-view"
            is_temporary = write.is_temporary or name.startswith("#")
            return facts._replace(
                reads=not is_view or write.is_stored,
                creates="" if is_view and not is_temporary else name,
                creates_view=is_view and not is_temporary,
                is_temporary=is_temporary,
                is_new=is_temporary and _MAY_EXIST.search(text) is None,
                schema=schema,
            )
        case "files":
            is_unload = text[:6].lower() == "unload"
            moves_files = is_unload or text[:4].lower() == "copy"
            return facts._replace(changes=name, schema=schema, unloads=is_unload, moves_files=moves_files)
        case "change":
            return facts._replace(changes=name, schema=schema)
        case "other":
            return facts


def query_of_cursor(text: str) -> str:
    """Return the query of a cursor's declaration; another statement as it is."""
    declaration = _CURSOR.match(text)
    return text[declaration.end() :] if declaration else text


def names_of_rename(text: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the parts of the old and of the new name of ``ALTER TABLE ... RENAME TO`` (or VIEW), folded.

    Those of ``SET SCHEMA``, and of ``SWAP WITH``, too.
    """
    if rename := _RENAME.match(text):
        return _parts(rename["old"]), _parts(rename["new"])
    if swap := _SWAP.match(text):
        return _parts(swap["one"]), _parts(swap["other"])
    if move := _SET_SCHEMA.match(text):
        old = _parts(move["old"])
        return old, (*old[:-2], _plain(move["schema"]), old[-1])
    return None


def names_of_column_rename(text: str) -> tuple[tuple[str, ...], str, str] | None:
    """Return the table of ``ALTER TABLE ... RENAME COLUMN``, and the old and new name, folded."""
    rename = _RENAME_COLUMN.match(text)
    return (_parts(rename["table"]), _plain(rename["old"]), _plain(rename["new"])) if rename else None


def creates_view(text: str) -> bool:
    """Return whether a statement's template creates a view that outlives its session."""
    return facts_of(text).creates_view


def _words(text: str) -> frozenset[str]:
    return frozenset(_plain(word[0]) for word in _WORD.finditer(text))


def _plain(name: str) -> str:
    return name.strip().strip("\"'`[]").strip().casefold()


def _parts(name: str) -> tuple[str, ...]:
    return tuple(_plain(part) for part in re.findall(PART, name))


def _schema(name: str) -> str:
    schema = "".join(_parts(name)[-2:-1])
    return "" if schema.startswith("pg_temp") else schema


def _last(name: str) -> str:
    return _parts(name)[-1]
