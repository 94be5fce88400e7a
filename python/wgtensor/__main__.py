"""`python -m wgtensor` is the command `wgtensor`."""

import sys

from wgtensor.cli import main

if __name__ == "__main__":
    sys.exit(main())
