"""Row-level operations and other writes to tables of Iceberg and Delta, planned in a real session."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.capture.lakehouse_cases import expected

EXPECTED = expected()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one session of its own finds: the jars have to be there when Java starts."""
    folder = tmp_path_factory.mktemp("lakehouse")
    arguments = [sys.executable, "-m", "tests.capture.lakehouse_cases", str(folder)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    cases: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return cases


@pytest.mark.jvm
@pytest.mark.parametrize("name", EXPECTED)
def test_a_statement_has_the_lineage_of_what_it_assigns(found: dict[str, Any], name: str) -> None:
    assert found[name] == EXPECTED[name]
