"""The whole stack on one machine, with only AWS emulated."""
