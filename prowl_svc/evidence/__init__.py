"""What an agent says of itself: pushed status, native files, logs, sessions."""
