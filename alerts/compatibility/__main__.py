"""`python -m alerts.compatibility`: writes or prints the compatibility rules."""

import sys

from alerts.compatibility.rule_files import main

sys.exit(main())
