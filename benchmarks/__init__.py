"""What the tool costs: `python -m benchmarks`. See README.md beside this file."""
