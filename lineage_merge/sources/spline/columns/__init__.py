"""Column lineage from the documents of one Spline plan. Pure: no Spark, no I/O.

`lineage.column_lineage` is the entry point. `documents` indexes a plan's documents; `attributes` builds one
graph of values (`column_lineage.value_graph`) from them, with the roles of arguments (`argument_roles`);
`nested_values` adds what builds or reads parts of values; `plan_text` and `text_columns` add what only a
subquery's text contains; `written_columns` finds the target's names, `expressions` writes readable
expressions, with `sql_types`.
"""
