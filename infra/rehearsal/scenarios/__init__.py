"""Scenarios played on a rehearsal's cluster: observed, judged, drawn."""
