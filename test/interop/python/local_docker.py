"""An environment of Harbor that runs tasks by the command `docker` alone, from images on this machine.

Harbor's own Docker environment needs Docker Compose. Everything else of a trial is Harbor's: its agents, its verifier, its
artifacts and its results.
"""

import asyncio
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities


class LocalDocker(BaseEnvironment):
    @staticmethod
    def type() -> str:
        return "local-docker"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(cpu_limit=True, memory_limit=True)

    def _validate_definition(self):
        if not (self.environment_dir / "Dockerfile").is_file():
            raise FileNotFoundError("environment/Dockerfile is missing")

    @property
    def _name(self) -> str:
        return f"lyceum-interop-{self.session_id.lower()}"

    async def _docker(self, *args: str, check: bool = True, timeout: float | None = None) -> ExecResult:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec("docker", *args, stdout=pipe, stderr=pipe)
        out, err = await asyncio.wait_for(process.communicate(), timeout)
        if check and process.returncode != 0:
            raise RuntimeError(f"docker {args[0]} failed: {err.decode(errors='replace')}")
        return ExecResult(stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace"), return_code=process.returncode)

    async def start(self, force_build: bool) -> None:
        await self._docker("build", "--network", "none", "-t", self._name, str(self.environment_dir))
        limits = ["--cpus", str(self._effective_cpus), "--memory", f"{self._effective_memory_mb}m"]
        network = ["--network", "none"] if self._network_disabled else []
        await self._docker("run", "-d", "--name", self._name, *limits, *network, self._name, "sleep", "infinity")
        await self.ensure_dirs(self._mount_targets(writable_only=True))

    async def stop(self, delete: bool) -> None:
        await self._docker("rm", "-f", self._name, check=False)
        await self._docker("rmi", "-f", self._name, check=False)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        user = self._resolve_user(user)
        given = [part for name, value in (self._merge_env(env) or {}).items() for part in ("-e", f"{name}={value}")]
        as_user = [] if user is None else ["--user", "0" if user == "root" else str(user)]
        folder = cwd or self.task_env_config.workdir
        at = [] if folder is None else ["-w", folder]
        arguments = ["exec", *at, *given, *as_user, self._name, "bash", "-c", command]
        return await self._docker(*arguments, check=False, timeout=timeout_sec)

    async def upload_file(self, source_path: Path | str, target_path: str):
        await self.exec(f"mkdir -p $(dirname '{target_path}')", user=0)
        await self._docker("cp", str(source_path), f"{self._name}:{target_path}")

    async def upload_dir(self, source_dir: Path | str, target_dir: str):
        await self.exec(f"mkdir -p '{target_dir}'", user=0)
        await self._docker("cp", f"{source_dir}/.", f"{self._name}:{target_dir}")

    async def download_file(self, source_path: str, target_path: Path | str):
        await self._docker("cp", f"{self._name}:{source_path}", str(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str):
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        await self._docker("cp", f"{self._name}:{source_dir}/.", str(target_dir))
