"""The door: JSON is checked and becomes values here, and answers become JSON again."""
