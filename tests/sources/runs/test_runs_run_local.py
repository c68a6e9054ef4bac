"""Marks on sources that a run had written itself before reading them."""

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.model.elements import Feeds, FeedsColumn, JobKey
from lineage_merge.sources.runs.run_local import mark, own_sources
from lineage_merge.sources.runs.run_selection import SelectedWrite
from tests.sources.runs.run_events import event

# Run r1 makes tmp at 1 and state at 5, and executes "uses" at 3; r2 makes tmp only, and later.
RECENT = [
    event("makes", 1, "r1", dataset="tmp"),
    event("makes", 4, "r1", dataset="tmp"),
    event("makes", 2, "r1", dataset="lost", failed=True),
    event("uses", 3, "r1", dataset="out"),
    event("ends", 5, "r1", dataset="state"),
    event("makes", 11, "r2", dataset="tmp"),
    event("makes", 11, "r2", dataset="more"),
    event("uses", 12, "r2", dataset="out"),
    event("uses too early", 11, "r2", dataset="out"),
    event("uses", 12, "r2", dataset="out", database="other"),
]
SELECTED = [SelectedWrite(each, 1) for each in RECENT if not each.failed]


def test_own_sources_are_what_each_selected_run_of_a_plan_wrote_before(engine: Engine) -> None:
    found = own_sources(engine.rows(RECENT), engine.rows(SELECTED)).collect()

    assert dict(found) == {("", "uses"): {"tmp"}, ("", "ends"): {"tmp", "out"}}
    assert len(found) == 2


def test_only_selected_runs_are_considered(engine: Engine) -> None:
    selected = [each for each in SELECTED if each.event.run_id == "r2"]

    assert dict(own_sources(engine.rows(RECENT), engine.rows(selected)).collect()) == {
        ("", "uses"): {"tmp", "more", "out"}
    }


def test_feeds_of_own_sources_are_marked_and_other_records_stay() -> None:
    own = frozenset({"tmp"})
    job = JobKey("spark", "job")
    feeds = Feeds(job, "tmp", "out", {}, {"writers": ["a"]})

    assert mark(feeds, own) == feeds._replace(is_run_local=True)
    for other in (
        feeds._replace(source="raw"),
        FeedsColumn(job, "tmp", "a", "out", "b", ("IDENTITY",)),
    ):
        assert mark(other, own) == other
