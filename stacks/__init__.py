"""What exists per environment: settings, their reader, and the one stack."""
