"""The tuner: which k, method and options are fastest here, found with a fraction of the measurements.

space.py says what is tried, walk.py what each k would have accepted, times.py how long its steps would have taken,
halving.py what is measured of it, run.py does it through the runner, report.py recommends. Ranked is by measured speed,
never by acceptance.
"""
