"""The emulated AWS: a Pulumi provider, a moto server and what moto does not model."""
