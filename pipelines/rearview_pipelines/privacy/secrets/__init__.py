"""Credentials: keys, tokens, passwords, connection strings, in code, configuration and prose."""
