"""`python -m tilegen`."""

from tilegen.cli import main

if __name__ == "__main__":
    main()
