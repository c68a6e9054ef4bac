"""The walk index: a graph as sorted columns that are mapped into memory, so that a question reads its answer.

::

    index/vertices.arrow    rows by id; texts by dictionary, but for ids
    index/edges.arrow       rows by target and id; `from` and `to` are positions of vertices
    index/adjacency.arrow   per label and direction: the vertex here, the one there, the edge
    index/names.arrow       texts by which vertices are found, sorted, and the vertices that have them

All are files of Arrow's IPC format without compression. A position is the number of a row. Edges without both
ends are omitted.
"""
