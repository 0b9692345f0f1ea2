"""The programs that the rehearsal runs: what they are, where they come from, how they are built."""
