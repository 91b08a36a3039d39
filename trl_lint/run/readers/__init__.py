"""How the parsers of training programs read what they are given, one module a parser."""
