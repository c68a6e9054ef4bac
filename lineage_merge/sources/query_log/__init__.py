"""A warehouse's own history of statements as a source of lineage.

`statement` has the row that every log yields. Logs: `redshift` (rows of Redshift's system views, from
exported files or the Data API), `athena`, and `statement_file`, the documented file of any other warehouse.

`templates` removes literals, `users` the names of users, `facts` reads what a statement does to names,
`owners` its query comment, `sessions` cuts sessions into units that can be interpreted alone,
`interpretation` yields their elements, `reads` counts what sessions read, and `usage` yields its elements
(all pure); `reader` distributes them.
"""
