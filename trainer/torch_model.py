"""The default model in PyTorch: DistributedDataParallel, nccl on GPUs, gloo on CPUs."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch
from torch import nn

from trainer.context import Context
from trainer.exits import PeerLostError
from trainer.loop import LEARNING_RATE, Arrays

LAYERS = {"first": 0, "second": 2, "last": 4}
"""A layer's name -> its place in the Sequential."""


class TorchModel:
    """Three layers and Adam, replicated over the gang's processes."""

    def __init__(self, context: Context, parameters: Mapping[str, Any]) -> None:
        self.world_size = context.world_size
        on_gpu = torch.cuda.is_available()
        self.device = torch.device(f"cuda:{context.local_rank}" if on_gpu else "cpu")
        self.backend = "nccl" if on_gpu else "gloo"
        self.mixed = context.environment.training.mixed_precision
        torch.manual_seed(context.seed)
        if on_gpu:
            torch.cuda.set_device(self.device)
        else:
            torch.set_num_threads(1)  # the layers are too small to share among threads
        self.network = _network(parameters).to(self.device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE)
        # Half floats on the T4 need a scaled loss; bfloat16 on the CPU does not.
        self.scaler = torch.cuda.amp.GradScaler(enabled=self.mixed and on_gpu)
        self.replica: Any = self.network
        if self.world_size > 1:
            patience = timedelta(seconds=context.environment.world.rendezvous_timeout_seconds)
            torch.distributed.init_process_group(
                self.backend, timeout=patience, rank=context.rank, world_size=self.world_size
            )
            self.replica = nn.parallel.DistributedDataParallel(
                self.network, device_ids=[context.local_rank] if on_gpu else None
            )

    def describe(self) -> dict[str, Any]:
        """Say where it trains and with which versions."""
        versions = {"framework": "pytorch", "pytorch": str(torch.__version__)}
        facts: dict[str, Any] = {"backend": self.backend, "device": "cpu", "versions": versions}
        if self.device.type == "cuda":
            facts["device"] = torch.cuda.get_device_name(self.device)
            versions["cuda"] = str(torch.version.cuda)
            versions["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
        return facts

    def step(self, inputs: Any, targets: Any, *, stop: bool) -> tuple[float, bool]:
        """Train one step; the ranks share gradients, the mean loss and the wish to stop."""
        self.optimizer.zero_grad()
        try:
            loss = self._loss(self.replica, inputs, targets)
            self.scaler.scale(loss).backward()
            shared = torch.tensor([float(loss.detach()), float(stop)], device=self.device)
            if self.world_size > 1:
                torch.distributed.all_reduce(shared)
            mean, stops = (float(value) for value in shared.cpu())
        except RuntimeError as error:
            if self.world_size == 1 or "out of memory" in str(error):
                raise
            message = f"the other ranks could not be reached: {error}"
            raise PeerLostError(message) from error
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return mean / self.world_size, stops > 0

    def evaluate(self, inputs: Any, targets: Any) -> float:
        """Score without training and without asking the other ranks."""
        with torch.no_grad():
            return float(self._loss(self.network, inputs, targets))

    def _loss(self, network: Any, inputs: Any, targets: Any) -> Any:
        on_gpu = self.device.type == "cuda"
        half = torch.float16 if on_gpu else torch.bfloat16
        given = torch.from_numpy(inputs).to(self.device)
        wanted = torch.from_numpy(targets).to(self.device)
        with torch.autocast(self.device.type, dtype=half, enabled=self.mixed):
            answer = network(given).squeeze(1)
        return nn.functional.mse_loss(answer.float(), wanted)

    def state(self) -> Arrays:
        """Weights, Adam's moments and the loss scale as arrays."""
        arrays = {
            f"model/{name}": value.cpu().numpy()
            for name, value in self.network.state_dict().items()
        }
        for index, slots in self.optimizer.state_dict()["state"].items():
            for slot, value in slots.items():
                arrays[f"optimizer/{index}/{slot}"] = torch.as_tensor(value).cpu().numpy()
        if self.scaler.is_enabled():
            arrays["scale"] = torch.as_tensor(self.scaler.get_scale()).numpy()
        return arrays

    def load(self, arrays: Mapping[str, Any]) -> None:
        """Take back what `state` gave."""
        self.network.load_state_dict(
            {
                name.removeprefix("model/"): torch.from_numpy(value)
                for name, value in arrays.items()
                if name.startswith("model/")
            }
        )
        state: dict[int, dict[str, Any]] = {}
        for name, value in arrays.items():
            if name.startswith("optimizer/"):
                _, index, slot = name.split("/")
                state.setdefault(int(index), {})[slot] = torch.as_tensor(value)
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})
        if "scale" in arrays and self.scaler.is_enabled():
            settings = self.scaler.state_dict()
            self.scaler.load_state_dict({**settings, "scale": float(arrays["scale"])})


def _network(parameters: Mapping[str, Any]) -> Any:
    shapes = {name: parameters[f"{name}.weight"].shape for name in LAYERS}
    network = nn.Sequential(
        nn.Linear(*shapes["first"]),
        nn.Tanh(),
        nn.Linear(*shapes["second"]),
        nn.Tanh(),
        nn.Linear(*shapes["last"]),
    )
    with torch.no_grad():
        for name, place in LAYERS.items():
            network[place].weight.copy_(torch.from_numpy(parameters[f"{name}.weight"].T.copy()))
            network[place].bias.copy_(torch.from_numpy(parameters[f"{name}.bias"][0]))
    return network
