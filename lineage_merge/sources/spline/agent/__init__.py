"""What Spline agents wrote themselves, without a Spline server: plans and events of the producer API.

Versions 1.0, 1.1 and 1.2 (https://absaoss.github.io/spline/, "Producer API"). A plan becomes the documents
that Spline's server would have stored of it, and an event a `progress` document, so that all that follows
is what a database goes through.
"""
