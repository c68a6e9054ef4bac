"""Short messages for SQL parse errors."""

import re

from sqlglot.errors import ParseError, SqlglotError, TokenError

from lineage_merge.column_lineage.sql.text import cut

# sqlglot prints tokens with all their fields.
_TOKEN = re.compile(r"<Token token_type: (?:TokenType\.)?(\w+), text: (.*?), line: .*>", re.DOTALL)


def reason(error: Exception, first_line: int = 1) -> str:
    """Return a message for `error`; the SQL starts at line `first_line` of its file."""
    if isinstance(error, ParseError):
        first = error.errors[0] if error.errors else {}
        line = first.get("line")
        location = f" (line {line + first_line - 1}, column {first.get('col')})" if line else ""
        description = str(first.get("description") or "").rstrip(".")
        return cut(_TOKEN.sub(_token, description) + location)
    if isinstance(error, TokenError):
        return "a text or a name in quotes does not end"
    if isinstance(error, SqlglotError):
        return cut(next(iter(str(error).splitlines()), ""))
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return type(error).__name__


def _token(found: re.Match[str]) -> str:
    return "the end" if found[1] == "SENTINEL" else found[2]
