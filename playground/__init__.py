"""Draftboard's engine room: everything below the page.

The package's public face for notebooks is `playground.api`; its command line is `python -m playground`.
"""

__version__ = "0.1.0"
