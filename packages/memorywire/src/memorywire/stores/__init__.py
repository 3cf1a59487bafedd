"""Where memories are kept: the contract, the stores that honour it, and how one is opened by URL."""
