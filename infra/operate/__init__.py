"""Commands that ask a running environment."""
