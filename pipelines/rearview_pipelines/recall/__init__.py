"""The recall path: pure functions between two calls to the index."""
