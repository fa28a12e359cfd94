"""A local page that plans a release and reads what was published: `confide explore`.

No records ever reach it: it plans with what is assumed, and analyses what is public. It imports nothing that reads data
(a test holds that), keeps nothing on disk, and asks nothing from outside of the machine.
"""
