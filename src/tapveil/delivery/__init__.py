"""Delivery: a published folder on an open-data portal, once, complete, and withdrawn if need be."""
