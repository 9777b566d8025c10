"""The write path: stages in a list, run by one writer per store."""
