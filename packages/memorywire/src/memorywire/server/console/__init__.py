"""The console: pages on which people review, look and ask why. It asks the same door as everybody else."""
