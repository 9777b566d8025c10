"""Adapters behind the ports that keep things."""
