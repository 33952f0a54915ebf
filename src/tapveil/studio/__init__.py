"""The studio: plan, look and publish in a browser, on this machine alone."""
