from trainer.monitor import GpuMonitor, summarise


def test_utilisation_is_a_mean_over_the_run_beside_the_highest() -> None:
    samples = [
        [{"name": "Tesla T4", "utilization_percent": load, "memory_used_mb": memory}]
        for load, memory in ((0, 100), (90, 900), (30, 400))
    ]
    assert summarise(samples) == [
        {
            "name": "Tesla T4",
            "memory_used_mb": 900,
            "utilization_percent": 90,
            "utilization_mean_percent": 40.0,
            "utilization_samples": 3,
        }
    ]


def test_a_gpu_that_tells_no_utilisation_has_none() -> None:
    assert summarise([[{"name": "Tesla T4"}]]) == [{"name": "Tesla T4"}]


def test_without_a_gpu_nothing_is_watched() -> None:
    monitor = GpuMonitor()
    monitor.end()
    assert monitor.devices() == []
