import type Docker from "dockerode";
import { ownerLabel, removeContainer } from "./container.ts";
import { isDead, type Owner } from "./owner.ts";

/** Removes containers and images whose owner was killed before it could remove them. Returns the number of containers. */
export async function removeOrphans(docker: Docker): Promise<number> {
  const containers = await docker.listContainers({ all: true, filters: { label: [ownerLabel] } });
  const orphans = containers.filter(({ Labels }) => {
    const owner = readOwner(Labels[ownerLabel]);
    return owner !== undefined && isDead(owner);
  });
  await Promise.all(orphans.map(({ Id }) => removeContainer(docker, Id)));
  const images = await docker.listImages({ filters: { label: [ownerLabel] } });
  for (const { Id, Labels } of images) {
    const owner = readOwner(Labels?.[ownerLabel]);
    if (owner !== undefined && isDead(owner)) await removeImage(docker, Id);
  }
  return orphans.length;
}

/** Removes an image with all its tags. Does nothing if it is already removed or another container still uses it. */
export async function removeImage(docker: Docker, id: string): Promise<void> {
  try {
    await docker.getImage(id).remove({ force: true });
  } catch (error) {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode !== 404 && statusCode !== 409) throw error;
  }
}

function readOwner(label: string | undefined): Owner | undefined {
  try {
    return JSON.parse(label ?? "") as Owner;
  } catch {
    return undefined;
  }
}
