"""The pair doctor: can this draft draft for this target, where, and is it worth it. See examine.py and trial.py."""
