"""Where other tools meet this one. A front end turns their calls into one engine run and adds no truth of its own."""
