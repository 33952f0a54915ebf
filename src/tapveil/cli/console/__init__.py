"""What commands say on the screen, a module for each."""
