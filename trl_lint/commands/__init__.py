"""What the sub-commands do. Parsing of the command line is in cli.py."""
