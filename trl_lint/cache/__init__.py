"""Reports of earlier runs, shown again where everything that they rest on is unchanged."""
