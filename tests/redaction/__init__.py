"""What the redactor finds, what it leaves alone, and how sure we are of both."""
