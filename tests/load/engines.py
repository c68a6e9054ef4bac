"""A mark for tests that run on each engine, on Spark nightly."""

import pytest

from tests.engine_fixtures import ENGINES

on_both_engines = pytest.mark.parametrize("engine", ENGINES, indirect=True)
