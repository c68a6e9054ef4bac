"""Statements of T-SQL, which end without a semicolon, and syntax that the parser does not know. Pure."""

from collections.abc import Iterator, Sequence

from lineage_merge.column_lineage.scripts.words import Edit, Word, closing, end_of_name, upper_at

# Reserved words that begin a statement.
_FIRST_WORDS = frozenset({
    "ALTER", "BEGIN", "BREAK", "BULK", "CHECKPOINT", "CLOSE", "COMMIT", "CONTINUE", "CREATE", "DBCC",
    "DEALLOCATE", "DECLARE", "DELETE", "DENY", "DROP", "ELSE", "END", "EXEC", "EXECUTE", "FETCH", "GO",
    "GOTO", "GRANT", "IF", "INSERT", "KILL", "MERGE", "OPEN", "PRINT", "RAISERROR", "RETURN", "REVOKE",
    "ROLLBACK", "SAVE", "SELECT", "SET", "THROW", "TRUNCATE", "UPDATE", "USE", "WAITFOR", "WHILE", "WITH",
    "UPDATE STATISTICS",
})  # fmt: skip
_CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
# Words before which a first word is part of the same statement.
_SAME_STATEMENT_AFTER = {
    "SELECT": frozenset({"UNION", "ALL", "EXCEPT", "INTERSECT", "AS"}),
    "INSERT": frozenset({"BULK", "THEN", "ON", "FOR"}),
    "UPDATE": frozenset({"THEN", "ON", "FOR"}),
    "DELETE": frozenset({"THEN", "ON", "FOR"}),
    "ALTER": frozenset({"OR"}),
    "IF": frozenset({"TABLE", "VIEW", "COLUMN", "CONSTRAINT"}),
    "FETCH": frozenset({"ROW", "ROWS"}),
}


def begins(words: Sequence[Word], at: int) -> bool:
    """Return whether the word at `at`, outside of a statement with data, begins one."""
    if words[at].upper == "WITH":
        return _begins_cte(words, at)
    return upper_at(words, at - 1) not in (".", "BULK")


def end_of_permissions(words: Sequence[Word], at: int) -> int:
    """Return the position after the permissions of the GRANT, REVOKE or DENY at `at`."""
    inner = range(at + 1, len(words))
    return next((here for here in inner if words[here].upper in ("ON", "TO", "FROM")), len(words))


def end_of_statement(words: Sequence[Word], start: int) -> int:
    """Return the position after the statement that begins at `start`."""
    main = "" if words[start].upper == "WITH" else words[start].upper
    needs_query, needs_set, cases = main == "INSERT", main == "UPDATE", 0
    for at in range(start + 1, len(words)):
        word, before = words[at].upper, upper_at(words, at - 1)
        if words[at].depth > words[start].depth or before == ".":
            continue
        if word == "CASE":
            cases += 1
        elif word == "END" and cases:
            cases -= 1
        elif word == "VALUES":
            needs_query = False
        elif word in _FIRST_WORDS and not cases:
            if not main and word in (*_CHANGES, "SELECT"):
                main, needs_query, needs_set = word, word == "INSERT", word == "UPDATE"
            elif needs_query and word in ("SELECT", "EXEC", "EXECUTE"):
                needs_query = False
            elif word == "WITH" and before == "AS":
                needs_query = True
            elif word == "SET" and (needs_set or main == "MERGE"):
                needs_set = False
            elif not _continues(words, at, main):
                return at
    return len(words)


def _continues(words: Sequence[Word], at: int, main: str) -> bool:
    word, before, after = words[at].upper, upper_at(words, at - 1), upper_at(words, at + 1)
    # A CTE needs a semicolon before it.
    if word == "WITH" or before in _SAME_STATEMENT_AFTER.get(word, ()):
        return True
    if word == "MERGE":
        return after == "JOIN"
    return word in ("DROP", "ALTER") and main == "ALTER" and after in ("COLUMN", "CONSTRAINT", "INDEX")


def _begins_cte(words: Sequence[Word], at: int) -> bool:
    """Return whether WITH begins a CTE: hints and options are in parentheses."""
    return upper_at(words, at + 1) != "(" and upper_at(words, at + 2) in ("AS", "(")


def is_first_word(word: str) -> bool:
    """Return whether a statement may begin with the word."""
    return word in _FIRST_WORDS


def declares_table(words: Sequence[Word], at: int) -> bool:
    """Return whether the DECLARE at `at` has a table variable."""
    end = end_of_statement(words, at)
    return any(word.upper == "TABLE" and word.depth == words[at].depth for word in words[at:end])


def find_call(words: Sequence[Word], at: int) -> str:
    """Return the procedure that the EXEC at `at` calls, "" for dynamic SQL."""
    name = at + 1
    if upper_at(words, name) == "@" and upper_at(words, name + 2) == "=":
        name += 3
    end = end_of_name(words, name)
    if end > len(words) or words[name].is_string or words[name].upper in ("(", "@"):
        return ""
    if words[end - 1].upper == "SP_EXECUTESQL":
        return ""
    return ".".join(word.text for word in words[name:end] if word.text != ".")


def inserts_from_procedure(words: Sequence[Word]) -> bool:
    """Return whether a statement is INSERT ... EXEC."""
    return words[0].upper == "INSERT" and any(
        word.upper in ("EXEC", "EXECUTE") and word.depth == words[0].depth for word in words
    )


def simplifications(words: Sequence[Word]) -> Iterator[Edit]:
    """Yield changes that make a statement readable for the parser, and leave its lineage the same."""
    change = next((at for at, word in enumerate(words) if word.upper in _CHANGES and word.depth == 0), None)
    if change is not None:
        name = change + 1
        if upper_at(words, name) == "TOP":
            end = closing(words, name + 1) + 1 if upper_at(words, name + 1) == "(" else name + 2
            end += upper_at(words, end) == "PERCENT"
            yield words[name].start, words[min(end, len(words)) - 1].end, ""
            name = end
        has_from = upper_at(words, name) == "FROM"
        after = end_of_name(words, name + (upper_at(words, name) in ("INTO", "FROM")))
        if words[change].upper == "DELETE" and has_from and upper_at(words, after) == "FROM":
            yield words[name].start, words[name].end, ""
        if words[change].upper == "INSERT" and upper_at(words, after) == "WITH":
            end = min(closing(words, after + 1), len(words) - 1)
            yield words[after].start, words[end].end, ""
    if words[0].upper == "ALTER" and upper_at(words, 1) == "VIEW":
        yield words[0].start, words[0].end, "CREATE"
    yield from _options(words)
    yield from _compound_assignments(words)


def _options(words: Sequence[Word]) -> Iterator[Edit]:
    """Yield the removal of OPTION (...) and of FOR UPDATE."""
    for at, word in enumerate(words):
        if word.depth > words[0].depth:
            continue
        if word.upper == "OPTION" and upper_at(words, at + 1) == "(":
            yield word.start, words[min(closing(words, at + 1), len(words) - 1)].end, ""
        elif word.upper == "FOR" and upper_at(words, at + 1) in ("UPDATE", "READ"):
            yield word.start, words[-1].end, ""
            return


def _compound_assignments(words: Sequence[Word]) -> Iterator[Edit]:
    """Yield ``a = a + x`` for ``a += x``."""
    for at in range(1, len(words) - 1):
        operator, equals = words[at], words[at + 1]
        is_compound = equals.upper == "=" and equals.start == operator.end
        if is_compound and operator.upper in ("+", "-", "*", "/", "%"):
            column = words[at - 1]
            yield operator.start, equals.end, f"= [{column.text}] {operator.text}"
