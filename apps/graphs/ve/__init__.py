"""Suite GraphChi-vE: edges have virtual methods, vertices are plain objects."""
