"""The dossier: what a privacy officer and a lawyer need in order to agree to a release. It never reads a trip."""
