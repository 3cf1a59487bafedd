"""`python -m memorywire.cli` is the command `memorywire`."""

from memorywire.cli import main

if __name__ == "__main__":
    main()
