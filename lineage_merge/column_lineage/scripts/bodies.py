"""Procedures and blocks that are open at a position of a file. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lineage_merge.column_lineage.scripts.routines import Header, Routine
from lineage_merge.column_lineage.scripts.words import Word, upper_at

_TRANSACTIONS = frozenset({"DISTRIBUTED", "ISOLATION", "NAME", "TRAN", "TRANSACTION", "WORK"})
_LOOPS_AND_BRANCHES = frozenset({"FOR", "IF", "LOOP", "REPEAT", "WHILE"})


@dataclass(slots=True)
class Body:
    """The body of a procedure, or a whole file; `open`: how many of its blocks have not ended."""

    routine: Routine
    line: int = 1
    open: int = 0
    is_package: bool = False


class Bodies:
    """The stack of open procedures; the first one is the file, or the procedure of a quoted body."""

    def __init__(self, first: Routine | None, *, is_tsql: bool) -> None:
        """`first`: the procedure of a quoted body; None for a file."""
        self._is_file = first is None
        self._is_tsql = is_tsql
        self._stack = [Body(first or Routine())]
        # In the declarations before BEGIN.
        self.is_declaring = False

    @property
    def routine(self) -> Routine:
        """The innermost procedure."""
        return self._stack[-1].routine

    @property
    def is_inside(self) -> bool:
        """Whether the position is in a procedure, a block, or its declarations."""
        return not self._is_file or self.is_declaring or len(self._stack) > 1 or self._stack[0].open > 0

    def enter(self, header: Header, line: int) -> None:
        """Add a procedure."""
        is_package = header.kind == "package"
        routine = header.routine(self.routine.variables)
        self._stack.append(Body(routine, line, int(is_package), is_package))
        self.is_declaring = not self._is_tsql

    def truncate(self) -> None:
        """Treat the first procedure as one that does not end."""
        self._stack[0].open += 1

    def end_all(self) -> Iterator[Body]:
        """Remove all procedures; yield those that have not ended."""
        self.is_declaring = False
        if not self._is_file and self._stack[0].open:
            yield self._stack[0]
        # T-SQL: a procedure ends at GO, with or without BEGIN and END.
        yield from (body for body in self._stack[1:] if body.open or not self._is_tsql)
        del self._stack[1:]

    def begin(self, words: Sequence[Word], at: int) -> int:
        """Read BEGIN; return the position to continue at."""
        body = self._stack[-1]
        is_transaction = upper_at(words, at + 1) in _TRANSACTIONS
        is_transaction |= at + 1 == len(words) and not self._is_tsql
        self.is_declaring = False
        if body.is_package:  # its initialization, which ends with it
            body.is_package = False
        elif not is_transaction:
            body.open += 1
        return at + 1

    def end(self, words: Sequence[Word], at: int) -> int:
        """Read END; return the position to continue at."""
        body, after = self._stack[-1], upper_at(words, at + 1)
        if after in _LOOPS_AND_BRANCHES and not self._is_tsql:
            return at + 2
        if body.open:
            body.open -= 1
            if not body.open and len(self._stack) > 1 and not self._is_tsql:
                self._stack.pop()
        return at + (2 if after == "CASE" else 1)

    def case(self, words: Sequence[Word], at: int) -> int:
        """Read CASE: an expression, or a statement, which ends in another fragment."""
        open_cases = 0
        for position in range(at, len(words)):
            if words[position].upper == "CASE":
                open_cases += 1
            elif words[position].upper == "END":
                open_cases -= 1
                if not open_cases:
                    return position + 1
        self._stack[-1].open += 1
        return at + 1
