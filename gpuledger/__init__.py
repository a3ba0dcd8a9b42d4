"""The command line: one file per command; knows every folder, is known by none."""
