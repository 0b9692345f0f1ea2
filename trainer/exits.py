"""How a rank ends: one exit code per cause, so that the job's policies can tell them apart."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Only CONFIGURATION is hopeless: the job's policy aborts on it and restarts on the others."""

    OK = 0
    TRAINING_FAILED = 70
    STORAGE_FAILED = 74
    PEER_LOST = 75
    RENDEZVOUS_FAILED = 76
    NO_IDENTITY = 77
    CONFIGURATION = 78
    PREEMPTED = 143
    """128 + SIGTERM, what `kubectl` shows for a pod that was asked to go and went."""


class TrainerError(Exception):
    """A cause that ends this rank, told in one sentence."""

    exit_code = ExitCode.TRAINING_FAILED


class StorageError(TrainerError):
    """The bucket did not take or give an object although it was asked again and again."""

    exit_code = ExitCode.STORAGE_FAILED


class PeerLostError(TrainerError):
    """Another rank of the gang is gone; training cannot go on without it."""

    exit_code = ExitCode.PEER_LOST


class RendezvousError(TrainerError):
    """The world was not complete within the deadline."""

    exit_code = ExitCode.RENDEZVOUS_FAILED


class NoIdentityError(TrainerError):
    """No credentials came within the deadline; a restart may find them."""

    exit_code = ExitCode.NO_IDENTITY


class ConfigurationError(TrainerError):
    """The pod was given something that no restart will mend."""

    exit_code = ExitCode.CONFIGURATION


class PreemptedError(TrainerError):
    """The pod was asked to end (SIGTERM), as a spot interruption does."""

    exit_code = ExitCode.PREEMPTED
