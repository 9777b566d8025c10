"""What belongs to one session: its transcript."""
