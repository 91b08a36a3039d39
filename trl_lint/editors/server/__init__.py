"""The language server: what the command line says of a file, while the file is being typed."""
