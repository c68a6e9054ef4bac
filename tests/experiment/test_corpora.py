"""The edges of values of the sample's dbt project are confirmed by experiments."""

from tests.experiment import corpora, dbt_project
from tests.experiment.changes import experiment


def test_all_edges_of_the_sample_project_are_confirmed() -> None:
    laboratory, models = dbt_project.read_models(corpora.SAMPLE)

    verdicts = [experiment(laboratory, model.query, model.lineage) for model in models]

    assert [each for verdict in verdicts for each in verdict.unknown] == []
    assert {each for verdict in verdicts for each in verdict.never} == set()
    assert sum(len(verdict.confirmed) for verdict in verdicts) > 40


def test_filters_by_constants_and_limits_are_left_out() -> None:
    query = "select a from t, u where t.k = u.k and t.s in ('x', 'y') and t.d > '2026' order by a limit 3"

    assert corpora.without_filters(query) == (
        "SELECT a FROM t, u WHERE t.k = u.k AND TRUE AND TRUE ORDER BY a"
    )
