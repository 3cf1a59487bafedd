"""Stores of memories: the contract, the stores that implement it, and opening a store by URL."""
