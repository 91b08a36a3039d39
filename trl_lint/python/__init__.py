"""Python sources: one `ast` pass shared by all rules, and LibCST only for the islands where a trigger matched."""
