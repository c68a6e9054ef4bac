"""Made-up pipelines: described plainly (`pipeline`), and written as Spline and dbt would have.

`spline` makes Spline's documents of them and `manifest` dbt's manifest (both pure); `landscape`
imagines a company of any size from a seed, `templates` and `export` write it to disk quickly
(``python -m benchmarks.generated``).
"""
