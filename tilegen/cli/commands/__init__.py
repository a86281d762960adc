"""One module per command; each has its click command as `command`."""
