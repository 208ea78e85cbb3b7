"""What was read of traces, what was not, and what to do about it: for connecting an application."""
