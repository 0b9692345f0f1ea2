"""Failures that a user can act on: one sentence and an exit code."""


class GangwayError(Exception):
    """A refusal or failure told to the user in one sentence, never as a stack trace.

    The message names the setting or thing, the value given, what is allowed and what to do.
    """

    exit_code = 1


class UsageError(GangwayError):
    """The command was called with words or values that it does not take."""

    exit_code = 2


class MissingToolError(GangwayError):
    """A program that the command needs cannot be had; the message says what was tried."""

    exit_code = 3
