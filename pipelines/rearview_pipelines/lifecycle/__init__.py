"""What becomes of memories later: archived, expired, merged, kept in snapshots, purged, moved to another
model; as jobs.
"""
