"""Reading published releases without running them, and writing `rules/api`: a development command, imported by
nothing else.
"""
