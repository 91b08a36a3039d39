"""Rules on one configuration document."""
