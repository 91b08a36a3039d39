"""The documentation site: `make site` builds it from docs/, rules/ and the histories into build/site."""
