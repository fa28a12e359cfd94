"""The next question chosen from the last answers: plans that never see a record."""
