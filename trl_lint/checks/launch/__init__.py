"""Rules about how training is started."""
