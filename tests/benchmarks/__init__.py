"""Measurements that decide whether the product keeps its promises. `make bench` runs them; no test ever times anything.

Each module runs alone (`python -m tests.benchmarks.decoding`), says on which machine, and with `--json` prints one JSON
object last.
"""
