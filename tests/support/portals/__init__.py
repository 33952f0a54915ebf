"""Portals on this machine, which follow the documented API of real ones, and fail where they are told to."""
