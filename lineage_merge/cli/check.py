"""The command `check`: policies of the configuration."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.answers import Answer, print_answer
from lineage_merge.cli.command import Command
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command
from lineage_merge.model.errors import ConfigError, PolicyViolated

if TYPE_CHECKING:
    from lineage_merge.config import Policy
    from lineage_merge.query.policies import PolicyCheck

FORMATS = ("table", "csv", "json", "sarif", "junit")


@click.command(
    cls=Command,
    short_help="Check the policies of the configuration.",
    epilog=epilog(
        "lineage-merge check --config lineage_merge.yml",
        "lineage-merge check --config lineage_merge.yml --folder lineage --policy no-pii-in-marts",
        "lineage-merge check --config lineage_merge.yml --format sarif --out policies.sarif",
        "lineage-merge check --config lineage_merge.yml --format junit --out policies.xml",
    ),
)
@click.option(
    "--policy", "names", multiple=True, metavar="NAME", help="policy to check; repeatable  [default: all]"
)
@click.option(
    "--out", "location", metavar="FILE", help="file for --format, local or s3://; the table is printed"
)
@query_command("table", formats=FORMATS)
def check(options: QueryOptions, names: tuple[str, ...], location: str | None) -> None:
    """Check the policies of the configuration, and list violations with their path and fix.

    Nothing is written. The exit code is 14 if a policy with the severity error is violated. With --dag, only
    datasets of this DAG are checked, along the lineage of all DAGs.
    """
    if location and options.format == "table":
        raise click.UsageError("--out requires --format csv, json, sarif or junit")
    with open_session(options) as session:
        from lineage_merge.query.layers import Layer
        from lineage_merge.query.policies import check_policies

        found = check_policies(
            session.graph,
            _selected(session.config.policies, names),
            layers=[Layer(name, globs) for name, globs in session.config.query.layers.items()],
            propagation=session.config.propagation,
            environment=session.environment,
            dag=options.dag,
        )
        note = "" if any(each.violations for each in found.results) else f"no violations: {found.summary}"
        if not any(each.checked for each in found.results):
            note = session.empty_note(f"{note}; nothing was checked")
        header = options.header("check", session.environment)
        output_format = options.format
        if location:
            from lineage_merge.infra import storage

            storage.write_text(location, _text(found, header, output_format))
            output_format = "table"
        _print(found, header, output_format, note)
        if found.failed:
            raise PolicyViolated(f"policies are violated: {found.summary}")


def _selected(policies: "Sequence[Policy]", names: Sequence[str]) -> "list[Policy]":
    """Return the policies of these names, all without names. Raises `ConfigError`."""
    if not policies:
        example = '[{name: no-pii-in-marts, tag: pii, must_not_reach: ["*.marts.*"]}]'
        raise ConfigError("policies", f"is missing; example: {example}")
    known = {each.name: each for each in policies}
    for name in names:
        if name not in known:
            from lineage_merge.infra.similar_names import did_you_mean

            similar = did_you_mean(name, known) or f"; policies: {', '.join(known)}"
            raise ConfigError("--policy", f"unknown policy: {name}{similar}")
    return [each for each in policies if not names or each.name in names]


def _print(found: "PolicyCheck", header: dict[str, Any], output_format: str, note: str) -> None:
    def tables() -> Iterator[Any]:
        from lineage_merge.query.formats.policy_tables import policy_tables

        return policy_tables(found)

    if output_format == "table":
        print_answer(Answer(found.subgraph, header, tables=tables, note=note), output_format)
        return
    if note:
        click.echo(note, err=True)
    click.echo(_text(found, header, output_format).encode(), nl=False)


def _text(found: "PolicyCheck", header: dict[str, Any], output_format: str) -> str:
    """Return the result as CSV, JSON, SARIF or JUnit XML. Unpaired surrogates become ``?``."""
    from lineage_merge.query.formats.json_text import as_json, json_text

    if output_format == "csv":
        from lineage_merge.query.formats.csv_text import csv_text
        from lineage_merge.query.formats.policy_tables import violation_table

        text = csv_text([violation_table(found)]).removesuffix("\n")
    elif output_format == "junit":
        from lineage_merge.query.formats.junit import junit

        text = junit(found)
    elif output_format == "sarif":
        from lineage_merge.query.formats.sarif import sarif

        text = json_text(sarif(found))
    else:
        from lineage_merge.query.formats.policy_text import result_as_json, summary_as_json

        results = [result_as_json(each, found.subgraph) for each in found.results]
        header = {**header, "summary": summary_as_json(found), "policies": results}
        text = json_text({**header, **as_json(found.subgraph)})
    return text.encode("utf-8", "replace").decode() + "\n"
