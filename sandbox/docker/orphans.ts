import type Docker from "dockerode";
import { ownerLabel, removeContainer } from "./container.ts";
import { isDead, type Owner } from "./owner.ts";

/** Removes containers whose owner was killed before it could remove them. Returns their number. */
export async function removeOrphans(docker: Docker): Promise<number> {
  const containers = await docker.listContainers({ all: true, filters: { label: [ownerLabel] } });
  const orphans = containers.filter(({ Labels }) => {
    const owner = readOwner(Labels[ownerLabel]);
    return owner !== undefined && isDead(owner);
  });
  await Promise.all(orphans.map(({ Id }) => removeContainer(docker, Id)));
  return orphans.length;
}

function readOwner(label: string | undefined): Owner | undefined {
  try {
    return JSON.parse(label ?? "") as Owner;
  } catch {
    return undefined;
  }
}
