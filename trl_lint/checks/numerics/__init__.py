"""Numbers that blow up or vanish: precision, clipping, masks."""
