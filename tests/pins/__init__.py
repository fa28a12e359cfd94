"""Numbers that were right once, written down, so that moving code cannot change them unseen.

`models` lists about sixty models over all routes and methods, `pinned.json` their log p, Fisher information and
posterior summaries. `python -m tests.pins` compares and prints what moved; `--record` writes the file anew, which is
only honest after an independent computation (`tests/audit`) has agreed with the new numbers.
"""
