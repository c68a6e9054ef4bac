"""The Apache Superset source: dashboards, charts and data sets, from exports or through the REST API.

https://superset.apache.org/docs/api
"""
