"""Where editors meet the tool. A front end turns their calls into one run of the engine, and adds no truth of its own."""
