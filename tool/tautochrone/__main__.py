"""`python -m tautochrone` is the command `tau`."""

from tautochrone.cli import main

if __name__ == "__main__":
    main()
