"""What a change of a source column changes in a result is known to the lineage."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from lineage_merge.column_lineage.sql import clauses, projections, query, row_changes, structures, values
from lineage_merge.column_lineage.sql.argument_roles import parts_of
from lineage_merge.column_lineage.sql.sql_values import UNTRACED
from lineage_merge.column_lineage.transformations import Transformation
from tests import drawing
from tests.experiment.__main__ import UnknownDependencyError, check, run
from tests.experiment.constructs import STATEMENTS
from tests.experiment.execution import TABLES, TARGET, Laboratory
from tests.experiment.product import sql_lineage

# Statements of a whole run, of which a share is drawn.
_DRAWN = 2000


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    return Laboratory()


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_lineage_of_a_construct_explains_each_change(statement: str, laboratory: Laboratory) -> None:
    counts: Counter[str] = Counter()

    check(laboratory, statement, counts)

    assert counts["statements"] == 1, "it cannot run"
    assert sql_lineage(statement, (*TABLES, TARGET)).problems == ()


def test_the_lineage_of_drawn_statements_explains_each_change() -> None:
    counts = run(int(drawing.seed()), round(_DRAWN * drawing.share()))

    assert counts["statements"] > 10 * counts["invalid"]
    assert counts["confirmed"] > counts["statements"]


def _nothing(*_: Any, **__: Any) -> Any:
    return iter(())


def _first(alternatives: Any) -> Any:
    return next(iter(alternatives), UNTRACED)


def _direct_parts(node: Any, known: Any) -> Any:
    return ((part, role) for part, role in parts_of(node, known) if role.step < Transformation.CONDITIONAL)


# Rules that are taken out of the derivation.
MUTANTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "conditions of CASE, orders of windows": (values, "parts_of", _direct_parts),
    "named windows": (values, "_find_named_windows", _nothing),
    "columns that set operations compare": (query, "compares_both_sides", lambda _: False),
    "the first of several alternatives": (projections, "merge_values", _first),
    "filters, groups and orders": (clauses.Clauses, "read", _nothing),
    "limits": (clauses.Clauses, "limit", _nothing),
    "parts of a structure": (values, "field_of", lambda base, name: UNTRACED),
    "the update of an upsert": (row_changes, "update_of_upsert", lambda *_: None),
    "functions that pass a structure": (structures, "pass_on", lambda base, *_: UNTRACED),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_missing_rule_is_noticed(
    mutant: str, laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, replacement = MUTANTS[mutant]
    monkeypatch.setattr(owner, name, replacement)

    def check_all() -> None:
        for statement in STATEMENTS:
            check(laboratory, statement, Counter())

    with pytest.raises(UnknownDependencyError):
        check_all()
