"""The benchmarks' program: which there are, what fails; their options; workers that die."""

import argparse
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks import options
from benchmarks.clients import prepared
from benchmarks.made_lineage import lineage
from benchmarks.results import FILE

SCRIPT = '''"""{about}"""

import sys


def main() -> None:
    {body}


if __name__ == "__main__":
    main()
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of three benchmarks, and of a module that is none."""
    bodies = {
        "works": "assert sys.argv[1:] == ['--smallest', '--results', 'none'], sys.argv",
        "skipped": f"sys.exit({options.SKIPPED})",
        "broken": "raise ValueError('no such name')",
    }
    for name, body in bodies.items():
        (tmp_path / f"{name}.py").write_text(
            SCRIPT.format(about=f"What {name} measures.\n\nMore.", body=body)
        )
    (tmp_path / "options.py").write_text('"""Options."""\n')
    monkeypatch.setattr(program, "HERE", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_each_script_of_the_folder_is_a_benchmark() -> None:
    assert program.benchmarks() == {
        "broken": "What broken measures.",
        "skipped": "What skipped measures.",
        "works": "What works measures.",
    }


@pytest.mark.usefixtures("folder")
def test_a_benchmark_that_fails_is_shown_and_fails_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--smallest"]) == 1
    out = capfd.readouterr().out
    assert "ValueError: no such name" in out
    summary = [line.split(maxsplit=3) for line in out.partition("== summary\n")[2].splitlines()]
    assert [(name, outcome) for name, _, _, outcome in summary[:-1]] == [
        ("broken", "FAILED, exit code 1"),
        ("skipped", "skipped"),
        ("works", "done"),
    ]
    assert out.endswith("3 benchmarks, failed: broken\n")
    assert program.main(["--smallest", "works", "skipped"]) == 0


def test_results_are_stored_also_of_the_smallest_sizes_if_a_file_follows(folder: Path) -> None:
    file = folder / "results.jsonl"
    body = f"assert sys.argv[1:] == ['--smallest', '--results', {str(file)!r}], sys.argv"
    (folder / "works.py").write_text(SCRIPT.format(about="What works measures.", body=body))

    assert program.main(["--smallest", "--results", str(file), "works"]) == 0


def test_a_benchmark_that_hangs_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "hangs.py").write_text(SCRIPT.format(about="Hangs.", body="__import__('time').sleep(60)"))
    monkeypatch.setattr(program, "MOST_SECONDS", 0.2)

    assert program.run_smallest("hangs").has_failed


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    made.add_argument("--vertices", type=int, default=1_000)
    made.add_argument("--rounds", type=int, default=3)
    return made


def test_the_smallest_sizes_store_no_results_and_are_overridden_by_later_options() -> None:
    made = parser()
    options.add_to(made, smallest={"vertices": 10, "rounds": 1})

    assert vars(made.parse_args([])) == {
        "vertices": 1_000,
        "rounds": 3,
        "results": FILE,
        "smallest": False,
    }
    assert vars(made.parse_args(["--smallest", "--rounds", "2"])) == {
        "vertices": 10,
        "rounds": 2,
        "results": None,
        "smallest": True,
    }


def test_a_smallest_size_of_no_option_is_an_error() -> None:
    made = parser()
    options.add_to(made, smallest={"vertixes": 10})

    with pytest.raises(AttributeError, match="no option vertixes"):
        made.parse_args(["--smallest"])


def test_a_worker_that_fails_ends_the_measurement() -> None:
    with pytest.raises(OSError, match="Cannot connect"):
        prepared.rate("ws://127.0.0.1:1/gremlin", lineage(4), processes=2)
