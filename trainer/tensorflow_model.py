"""The default model in TensorFlow: a custom loop under MultiWorkerMirroredStrategy.

The strategy carries the gradients between the workers; weights are plain variables that every
worker updates alike. So one step is the same arithmetic as in PyTorch.
"""

from collections.abc import Mapping
from typing import Any, Final

import tensorflow as tf

from trainer.context import Context
from trainer.exits import PeerLostError
from trainer.loop import LEARNING_RATE, Arrays

FIRST_DECAY: Final = 0.9
SECOND_DECAY: Final = 0.999
TINY: Final = 1e-8
LOSS_SCALE: Final = 256.0
"""Keeps half-float gradients on the GPU from vanishing; taken out again before the update."""
LAYERS: Final = ("first", "second", "last")


class TensorflowModel:
    """Three layers and Adam, replicated over the gang's workers and their GPUs."""

    def __init__(self, context: Context, parameters: Mapping[str, Any]) -> None:
        # Physical devices: asking for logical ones would start TensorFlow before the strategy.
        gpus = tf.config.list_physical_devices("GPU")
        self.on_gpu = bool(gpus)
        self.workers = context.world_size
        if self.workers > 1:
            self.strategy = tf.distribute.MultiWorkerMirroredStrategy()
        elif len(gpus) > 1:
            self.strategy = tf.distribute.MirroredStrategy()
        else:
            self.strategy = tf.distribute.get_strategy()
        self.local_replicas = max(1, len(gpus))
        self.replicas = self.local_replicas * self.workers
        mixed = context.environment.training.mixed_precision
        half = tf.float16 if self.on_gpu else tf.bfloat16
        self.precision = half if mixed else tf.float32
        self.scale = LOSS_SCALE if mixed and self.on_gpu else 1.0
        self.names = [f"{layer}.{part}" for layer in LAYERS for part in ("weight", "bias")]
        self.weights = [tf.Variable(parameters[name], name=name) for name in self.names]
        self.first = [tf.Variable(tf.zeros_like(weight)) for weight in self.weights]
        self.second = [tf.Variable(tf.zeros_like(weight)) for weight in self.weights]
        self.count = tf.Variable(0.0)
        self._shared = tf.function(self._share, reduce_retracing=True)
        self._updated = tf.function(self._update)

    def describe(self) -> dict[str, Any]:
        """Say where it trains and with which versions."""
        versions = {"framework": "tensorflow", "tensorflow": str(tf.__version__)}
        facts: dict[str, Any] = {
            "backend": "nccl" if self.on_gpu else "ring",
            "device": "cpu",
            "versions": versions,
        }
        if self.on_gpu:
            details = tf.config.experimental.get_device_details(
                tf.config.list_physical_devices("GPU")[0]
            )
            facts["device"] = str(details.get("device_name", "gpu"))
            versions["cuda"] = str(tf.sysconfig.get_build_info().get("cuda_version", "unknown"))
        return facts

    def step(self, inputs: Any, targets: Any, *, stop: bool) -> tuple[float, bool]:
        """Train one step; the ranks share gradients, the mean loss and the wish to stop."""
        share = len(targets) // self.local_replicas

        def part(replica: Any) -> tuple[Any, Any, Any]:
            begin = replica.replica_id_in_sync_group % self.local_replicas * share
            return (
                tf.constant(inputs[begin : begin + share]),
                tf.constant(targets[begin : begin + share]),
                tf.constant(float(stop)),
            )

        try:
            parts = self.strategy.experimental_distribute_values_from_function(part)
            loss, stops, gradients = self._shared(parts)
            mean, wish = float(loss), float(stops)
        except tf.errors.OpError as error:
            if self.workers == 1 or isinstance(error, tf.errors.ResourceExhaustedError):
                raise
            message = f"the other ranks could not be reached: {error.message}"
            raise PeerLostError(message) from error
        self._updated(gradients)
        return mean, wish > 0

    def _share(self, parts: Any) -> tuple[Any, Any, Any]:
        loss, stop, gradients = self.strategy.run(self._gradients, args=(parts,))
        total = tf.distribute.ReduceOp.SUM
        # One flat vector, so that a step is one collective and the loss is part of it.
        packed = self.strategy.run(_pack, args=(loss, stop, gradients))
        summed = self.strategy.reduce(total, packed, axis=None)
        parts_of = tf.split(
            summed, [1, 1, *(weight.shape.num_elements() for weight in self.weights)]
        )
        shared = [
            tf.reshape(flat, weight.shape) / (self.replicas * self.scale)
            for flat, weight in zip(parts_of[2:], self.weights, strict=True)
        ]
        return parts_of[0][0] / self.replicas, parts_of[1][0], shared

    def _gradients(self, part: Any) -> tuple[Any, Any, Any]:
        inputs, targets, stop = part
        with tf.GradientTape() as tape:
            loss = self._loss(inputs, targets)
            scaled = loss * self.scale
        return loss, stop, tape.gradient(scaled, self.weights)

    def _loss(self, inputs: Any, targets: Any) -> Any:
        answer = tf.cast(inputs, self.precision)
        for layer in range(len(LAYERS)):
            weight, bias = self.weights[2 * layer], self.weights[2 * layer + 1]
            answer = tf.matmul(answer, tf.cast(weight, self.precision))
            answer += tf.cast(bias, self.precision)
            if layer < len(LAYERS) - 1:
                answer = tf.tanh(answer)
        error = tf.cast(answer[:, 0], tf.float32) - targets
        return tf.reduce_mean(error * error)

    def _update(self, gradients: Any) -> None:
        self.count.assign_add(1.0)
        first_left = 1.0 - tf.pow(FIRST_DECAY, self.count)
        second_left = 1.0 - tf.pow(SECOND_DECAY, self.count)
        for weight, first, second, gradient in zip(
            self.weights, self.first, self.second, gradients, strict=True
        ):
            first.assign(FIRST_DECAY * first + (1 - FIRST_DECAY) * gradient)
            second.assign(SECOND_DECAY * second + (1 - SECOND_DECAY) * gradient * gradient)
            spread = tf.sqrt(second / second_left) + TINY
            weight.assign_sub(LEARNING_RATE * (first / first_left) / spread)

    def evaluate(self, inputs: Any, targets: Any) -> float:
        """Score without training and without asking the other ranks."""
        return float(self._loss(tf.constant(inputs), tf.constant(targets)))

    def state(self) -> Arrays:
        """Weights and Adam's moments as arrays."""
        arrays = {"optimizer/count": self.count.numpy()}
        for name, weight, first, second in zip(
            self.names, self.weights, self.first, self.second, strict=True
        ):
            arrays[f"model/{name}"] = weight.numpy()
            arrays[f"optimizer/{name}/first"] = first.numpy()
            arrays[f"optimizer/{name}/second"] = second.numpy()
        return arrays

    def load(self, arrays: Mapping[str, Any]) -> None:
        """Take back what `state` gave."""
        self.count.assign(arrays["optimizer/count"])
        for name, weight, first, second in zip(
            self.names, self.weights, self.first, self.second, strict=True
        ):
            weight.assign(arrays[f"model/{name}"])
            first.assign(arrays[f"optimizer/{name}/first"])
            second.assign(arrays[f"optimizer/{name}/second"])


def _pack(loss: Any, stop: Any, gradients: Any) -> Any:
    flat = [tf.reshape(gradient, [-1]) for gradient in gradients]
    return tf.concat([tf.reshape(loss, [1]), tf.reshape(stop, [1]), *flat], axis=0)
