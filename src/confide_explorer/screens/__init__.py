"""What each screen computes, in a process of its own: functions of the state, which return an `Answer`."""
