"""`tuft launch` on a machine without a GPU: `python tuft_server.py launch ...`.

TuFT asks Ray for a GPU and clears the GPU's memory by torch. Here Ray is started with one GPU that does not exist, and the
calls of torch that fail without a GPU do nothing. The model then runs on the CPU. Everything else of TuFT is unchanged.
"""

import os


def without_gpu():
    import torch

    for name in ["empty_cache", "reset_peak_memory_stats"]:
        setattr(torch.cuda, name, lambda *_, **__: None)
    for name in ["memory_allocated", "memory_reserved", "max_memory_allocated"]:
        setattr(torch.cuda, name, lambda *_, **__: 0)


if __name__ == "__main__":
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    import ray

    ray.init(
        num_cpus=2,
        num_gpus=1,
        include_dashboard=False,
        object_store_memory=200_000_000,
        runtime_env={"worker_process_setup_hook": without_gpu},
    )
    from tuft.cli import main

    main()
