"""The Pulumi program, its preview, its rehearsal and the gangway command."""
