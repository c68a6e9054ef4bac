"""A mark for tests that run on each engine."""

import pytest

on_both_engines = pytest.mark.parametrize("engine", ["local", "spark"], indirect=True)
