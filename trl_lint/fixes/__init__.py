"""Repairing: choose fixes that do not collide, apply them, prove the result, write it in one step."""
