"""`python -m weald`: the command line."""

import sys

from weald.cli.main import main

sys.exit(main())
