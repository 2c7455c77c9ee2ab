"""Suite GraphChi-vEN: edges and vertices have virtual methods."""
