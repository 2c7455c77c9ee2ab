"""One model, many runs: parameters, seeds, workers, and a table of what came out."""
