"""The parts of the remote engine. Only this package and `engines/remote.py` know servers and HTTP."""
