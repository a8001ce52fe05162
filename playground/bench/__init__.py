"""The benchmark: a suite measured with and without speculation, in pairs, and what that proves.

plan.py says what is to be measured, schedule.py in which order, run.py does it through the runner, samples.py is what
one run gave, report.py draws the conclusions with statistics.py, text.py writes them down. Views are the page's and the
command line's.
"""
