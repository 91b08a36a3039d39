"""The rules. One rule is one module in a topic folder, named after the bad pattern; `rule` in it is the instance."""
