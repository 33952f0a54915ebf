"""Many releases as one series: read, written as files, and shown on a page."""
