"""One training run: what its command, files and releases come to."""
