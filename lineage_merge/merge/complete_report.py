"""The complete report of a merge: problems and counts, near misses, completeness, and expectations."""

from dataclasses import replace

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge import report_builder
from lineage_merge.merge.expectations import unmet
from lineage_merge.merge.join import Merged
from lineage_merge.merge.near_misses.collection import NearMisses, near_misses
from lineage_merge.merge.report import MERGE, Report
from lineage_merge.merge.source_completeness import why_not_retired
from lineage_merge.model.records import Record


def complete_report(records: Rows[Record], merged: Merged, config: Config) -> Report:
    """Return the report of a merge with these records as input."""
    facts = report_builder.facts(records, merged).cache()
    found = report_builder.of_facts(facts)
    found = with_near_misses(found, near_misses(merged.elements, config, uses=report_builder.uses_in(facts)))
    return replace(
        found,
        not_retired=why_not_retired(config, found),
        unmet=unmet(merged.elements, found, config.merge.expect),
    )


def with_near_misses(found: Report, added: NearMisses) -> Report:
    """Add the near misses and their notes to a report."""
    if not added.notes:
        return replace(found, near_misses=added.found)
    number = len(added.notes)
    kinds = found.by_source.get(MERGE, {})
    of_merge = {**kinds, "notice": kinds.get("notice", 0) + number}
    return replace(
        found,
        near_misses=added.found,
        problems=(*found.problems, *added.notes),
        totals={**found.totals, "notice": found.totals.get("notice", 0) + number},
        by_source={**found.by_source, MERGE: of_merge},
    )
