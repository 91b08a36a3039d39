"""Forward abstract interpretation over one function at a time; the lattice is plugged in."""
