"""The gate: is an observed turn worth remembering? Facts, preferences, decisions, outcomes and errors are."""
