"""Checks what is published from what is published alone: anyone can run it, and nothing in a folder is believed."""
