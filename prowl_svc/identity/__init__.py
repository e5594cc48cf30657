"""Who is calling, as the kernel says."""
