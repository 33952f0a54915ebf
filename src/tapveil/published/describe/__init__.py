"""What a folder says about itself, for people and for portals."""
