"""From the log of a run that died to its cause: read the log, find the first failure, rank what may have caused it.

Nothing of the project is imported or run, and nothing of the log reaches a terminal as it is.
"""
