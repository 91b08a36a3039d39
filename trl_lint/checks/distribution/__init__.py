"""Placement and distribution: which device, which process, which wrapper."""
