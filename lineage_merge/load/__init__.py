"""Writing nodes and edges into a Gremlin graph.

`connection` opens connections and turns their errors into ours, `requests` makes requests
out of rows without touching anything, `loader` runs them from Spark's executors.
"""
