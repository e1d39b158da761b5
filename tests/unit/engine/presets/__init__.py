"""Each preset behaves as the system it is named after, in the numbers its source states."""
