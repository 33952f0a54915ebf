"""`rider.html`: what a folder says about somebody who travels, in plain words and several languages."""
