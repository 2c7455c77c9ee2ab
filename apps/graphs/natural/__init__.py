"""GraphChi's further programs, of vertices and edges with methods of their own: shortest paths,
core numbers, labels of communities, triangles."""
