"""Hypothesis profiles: `ci` is repeatable and quick, `dev` looks for something new each time.

`ci` is taken where the variable CI is set; HYPOTHESIS_PROFILE names another one.
"""

from __future__ import annotations

import os
from tempfile import TemporaryDirectory

from hypothesis import settings

_state = TemporaryDirectory(prefix="thinkwire-state-")
os.environ["XDG_STATE_HOME"] = _state.name  # no secret and no ledger of whoever runs the tests, in processes as well

settings.register_profile("ci", derandomize=True, max_examples=60, deadline=None, database=None, print_blob=True)
settings.register_profile("dev", max_examples=200, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))
