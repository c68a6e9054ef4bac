"""Progress output: `capsys` is a log, with `FORCE_COLOR` a terminal."""

import re
from collections.abc import Callable

import pytest

from lineage_merge.cli.progress import EVERY_SECONDS, show_progress


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def log(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def terminal(log: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """Return the lines on standard error without terminal control sequences; standard output is empty."""

    def lines() -> list[str]:
        out, err = capsys.readouterr()
        assert out == ""
        return [line.strip() for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", err).splitlines()]

    return lines


def test_logs_contain_each_step_with_the_elapsed_time(clock: Clock, shown: Callable[[], list[str]]) -> None:
    with show_progress(clock=clock) as on_progress:
        on_progress("starting Spark")
        clock.now += 2.5
        on_progress("reading Spline")
        on_progress("reading Spline")

    assert shown() == ["0.0 s  starting Spark", "2.5 s  reading Spline"]


def test_counts_are_logged_every_few_seconds_and_at_the_end(
    clock: Clock, shown: Callable[[], list[str]]
) -> None:
    with show_progress(clock=clock) as on_progress:
        for done in range(1, 73):
            on_progress(f"jar {done} of 72: {'gremlin' if done % 2 else 'netty'} 4.{done}")
            clock.now += 0.125
        on_progress("fetched 72 jars")
        on_progress("starting Spark")

    assert shown() == [
        "0.0 s  jar 1 of 72: gremlin 4.1",
        "5.0 s  jar 41 of 72: gremlin 4.41",
        "8.9 s  jar 72 of 72: netty 4.72",
        "9.0 s  fetched 72 jars",
        "9.0 s  starting Spark",
    ]


def test_the_last_line_is_not_repeated(clock: Clock, shown: Callable[[], list[str]]) -> None:
    with show_progress(clock=clock) as on_progress:
        on_progress("jar 1 of 3")
        on_progress("jar 2 of 3")
        clock.now += EVERY_SECONDS
        on_progress("jar 3 of 3")
        on_progress("starting Spark")

    assert shown() == ["0.0 s  jar 1 of 3", "5.0 s  jar 3 of 3", "5.0 s  starting Spark"]


def test_alternating_counts_are_separate_lines(clock: Clock, shown: Callable[[], list[str]]) -> None:
    with show_progress(clock=clock) as on_progress:
        on_progress("writing nodes (0 of 2 partitions)")
        on_progress("writing nodes (2 of 2 partitions)")
        on_progress("writing edges (0 of 2 partitions)")

    assert shown() == [
        "0.0 s  writing nodes (0 of 2 partitions)",
        "0.0 s  writing nodes (2 of 2 partitions)",
        "0.0 s  writing edges (0 of 2 partitions)",
    ]


def test_the_last_line_before_an_error_is_logged(clock: Clock, shown: Callable[[], list[str]]) -> None:
    def fetch() -> None:
        with show_progress(clock=clock) as on_progress:
            for done in (1, 2, 3):
                on_progress(f"jar {done} of 72")
            raise ConnectionError

    with pytest.raises(ConnectionError):
        fetch()

    assert shown() == ["0.0 s  jar 1 of 72", "0.0 s  jar 3 of 72"]


@pytest.mark.usefixtures("terminal")
def test_terminals_print_one_line_per_count(clock: Clock, shown: Callable[[], list[str]]) -> None:
    with show_progress(clock=clock) as on_progress:
        on_progress("jar 1 of 72: gremlin-core")
        clock.now += EVERY_SECONDS
        on_progress("jar 2 of 72: netty")
        on_progress("starting Spark")

    lines = shown()
    printed = [line for line in lines if re.match(r"\d+\.\d s  ", line)]
    assert printed == ["0.0 s  jar 1 of 72: gremlin-core", "5.0 s  starting Spark"]
    passing = " ".join(line for line in lines if line not in printed)
    assert "jar 2 of 72: netty" in passing


@pytest.mark.usefixtures("terminal")
def test_square_brackets_are_escaped(clock: Clock, shown: Callable[[], list[str]]) -> None:
    with show_progress(clock=clock) as on_progress:
        on_progress("reading lineage[1]/[bold]")

    assert "0.0 s  reading lineage[1]/[bold]" in shown()


def test_quiet_shows_nothing(shown: Callable[[], list[str]]) -> None:
    with show_progress(quiet=True) as on_progress:
        on_progress("starting Spark")

    assert shown() == []


def written(done: int, total: int = 400) -> str:
    return f"writing edges ({done} of {total} partitions)"


def test_long_work_shows_the_time_that_is_left(clock: Clock, shown: Callable[[], list[str]]) -> None:
    with show_progress(clock=clock) as on_progress:
        on_progress(written(0))
        for done in (40, 120, 400):
            clock.now += 2 * EVERY_SECONDS
            on_progress(written(done))

    assert shown() == [
        "0.0 s  writing edges (0 of 400 partitions)",
        "10.0 s  writing edges (40 of 400 partitions), about 90 s left",
        "20.0 s  writing edges (120 of 400 partitions), about 50 s left",
        "30.0 s  writing edges (400 of 400 partitions)",
    ]


def test_work_that_is_resumed_is_estimated_by_its_own_speed(
    clock: Clock, shown: Callable[[], list[str]]
) -> None:
    with show_progress(clock=clock) as on_progress:
        on_progress("fetching jars: 1,000.5 of 2,000.5 MB")
        clock.now += EVERY_SECONDS
        on_progress("fetching jars: 1,010.5 of 2,000.5 MB")

    assert shown()[-1] == "5.0 s  fetching jars: 1,010.5 of 2,000.5 MB, about 8 min left"


def test_short_work_shows_no_estimate(clock: Clock, shown: Callable[[], list[str]]) -> None:
    with show_progress(clock=clock) as on_progress:
        on_progress(written(0))
        clock.now += EVERY_SECONDS
        on_progress(written(300))

    assert shown()[-1] == "5.0 s  writing edges (300 of 400 partitions)"


def test_the_estimate_of_other_work_begins_with_it(clock: Clock, shown: Callable[[], list[str]]) -> None:
    with show_progress(clock=clock) as on_progress:
        on_progress("writing nodes (0 of 4 partitions)")
        clock.now += 60
        on_progress(written(0))
        clock.now += 1  # too early for an estimate
        on_progress(written(1))
        clock.now += EVERY_SECONDS
        on_progress(written(60))

    assert shown()[-2:] == [
        "60.0 s  writing edges (0 of 400 partitions)",
        "66.0 s  writing edges (60 of 400 partitions), about 30 s left",
    ]


@pytest.mark.usefixtures("terminal")
def test_terminals_show_the_estimate_in_the_spinner(clock: Clock, shown: Callable[[], list[str]]) -> None:
    with show_progress(clock=clock) as on_progress:
        on_progress(written(0))
        clock.now += 10
        on_progress(written(100))
        on_progress("saving the graph")

    assert "writing edges (100 of 400 partitions), about 30 s left" in " ".join(shown())


def test_the_estimate_restarts_with_the_next_stage(clock: Clock, shown: Callable[[], list[str]]) -> None:
    with show_progress(clock=clock) as on_progress:
        counts = "1: 0 of 100", "1: 90 of 100", "2: 10 of 100", "2: 20 of 100", "3: 5 of 400", "3: 45 of 400"
        for count in counts:
            on_progress(f"joining (stage {count} tasks)")
            clock.now += 2 * EVERY_SECONDS

    assert shown() == [
        "0.0 s  joining (stage 1: 0 of 100 tasks)",
        "10.0 s  joining (stage 1: 90 of 100 tasks), about 1 s left",
        "20.0 s  joining (stage 2: 10 of 100 tasks)",
        "30.0 s  joining (stage 2: 20 of 100 tasks), about 80 s left",
        "40.0 s  joining (stage 3: 5 of 400 tasks)",
        "50.0 s  joining (stage 3: 45 of 400 tasks), about 90 s left",
    ]
