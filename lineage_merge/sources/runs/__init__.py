"""Run selection and job facts, shared by all sources that report runs."""
