"""The Pulumi program: settings in, the one stack, exports out."""

import pulumi

from stacks import gpu_training, loader


def run() -> None:
    """Declare the stack that the engine asks for; bad settings end it with their sentences."""
    try:
        settings = loader.from_pulumi()
    except loader.SettingsError as error:
        raise pulumi.RunError(str(error)) from None
    for name, value in gpu_training.deploy(settings).items():
        pulumi.export(name, value)


if __name__ == "__main__":
    run()
