"""The command line: one verb a function, every verb with --json, exit codes that mean something."""
