"""Column lineage from the documents of one Spline plan. Pure: no Spark, no I/O.

`lineage.column_lineage` is the way in. Below it: `documents` indexes a plan's documents,
`attributes` turns them into one graph of values (`value_graph`) by the `roles` of each
expression's arguments, `struct_fields` looks through structures, `plan_text` and
`text_columns` add what only a subquery's text tells, `expressions` writes expressions
for people, `influences` finds what decides on rows.
"""
