"""Row-level operations and other writes to tables of Iceberg and Delta, planned in a real session."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.lakehouse_cases import expected

pytestmark = pytest.mark.jvm


def test_statements_have_the_lineage_of_what_they_assign(tmp_path: Path) -> None:
    # A process of its own: the jars have to be there when Java starts.
    arguments = [sys.executable, "-m", "tests.capture.lakehouse_cases", str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == expected()
