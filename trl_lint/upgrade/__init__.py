"""Moving a project from the releases it has to the releases that are wanted."""
