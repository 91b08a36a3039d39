"""Real editors, set up word for word as docs/editors.md says: `make editors EDITORS=folder` tries them, and keeps the
results.
"""
