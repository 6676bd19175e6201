"""`python -m thinkwire.cli`: the same as the `thinkwire` command."""

import sys

from thinkwire.cli import main

sys.exit(main())
