"""Hashes of rows: what they depend on, and what they do not."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from lineage_merge.infra.row_hashes import hash_rows, hash_text, hash_texts

COLUMNS: dict[str, Any] = {
    "name": ["amount", "total", None],
    "data_type": ["int", "text", "int"],
    "tags": [["gold", "pii"], None, ["gold"]],
}


def hashes_of(columns: Mapping[str, Any]) -> Sequence[int]:
    hashes: Sequence[int] = hash_rows(
        {name: hash_texts(pa.chunked_array([column])) for name, column in columns.items()}
    ).to_pylist()
    return hashes


HASHES = hashes_of(COLUMNS)


@pytest.mark.parametrize(
    "same",
    [
        {name: COLUMNS[name] for name in ("tags", "data_type", "name")},
        {**COLUMNS, "tags": [["pii", "gold"], None, ["gold"]]},
        {**COLUMNS, "description": pa.nulls(3, pa.string())},
        {**COLUMNS, "name": pa.array(COLUMNS["name"]).dictionary_encode()},
        {
            **COLUMNS,  # the dictionary of a whole graph, of which these rows are a part
            "data_type": pa.DictionaryArray.from_arrays([4, 1, 4], ["a", "text", "b", "c", "int"]),
        },
    ],
    ids=["order of columns", "order of a set", "a column without values", "a dictionary", "more texts"],
)
def test_the_hash_does_not_depend_on_how_a_value_is_stored(same: Mapping[str, Any]) -> None:
    assert hashes_of(same) == HASHES


@pytest.mark.parametrize("name", COLUMNS)
def test_values_that_two_rows_exchange_change_the_sum_of_their_hashes(name: str) -> None:
    first, second, third = COLUMNS[name]
    exchanged = hashes_of({**COLUMNS, name: [second, first, third]})
    assert sum(exchanged[:2]) != sum(HASHES[:2])
    assert exchanged[2] == HASHES[2]


def test_values_that_two_columns_exchange_change_the_hash() -> None:
    assert hashes_of({"a": ["x"], "b": ["y"]}) != hashes_of({"a": ["y"], "b": ["x"]})


def test_a_number_is_hashed_as_its_text_and_an_unknown_value_is_unknown() -> None:
    assert hash_texts(pa.array([7, None])).to_pylist() == [hash_text("7"), None]
