"""The published side: noisy tables and the manifest, and all that is made from them."""
