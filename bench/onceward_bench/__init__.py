"""The side-by-side benchmark: see bench/run."""
