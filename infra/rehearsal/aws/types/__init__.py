"""The aws types that the rehearsal knows, a module for each service."""
