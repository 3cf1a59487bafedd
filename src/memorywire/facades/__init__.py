"""What people hold in their hands: the Python face of the engine."""
