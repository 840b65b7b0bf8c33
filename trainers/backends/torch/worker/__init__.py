"""The worker of Lyceum's PyTorch backend: a child process that runs and trains models for one Lyceum process."""
