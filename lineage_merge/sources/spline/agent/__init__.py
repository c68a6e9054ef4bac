"""Files that Spline agents write themselves, without a Spline server: plans and events of the producer API.

Versions 1.0, 1.1 and 1.2 (https://absaoss.github.io/spline/, "Producer API"). A plan is converted to the
documents that Spline's server would have stored, and an event to a `progress` document, so that all later
steps are those of a database.
"""
