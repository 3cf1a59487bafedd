"""The rooms of the console: one module for each section of pages."""
