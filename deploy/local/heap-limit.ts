import { totalmem } from 'node:os';

/**
 * Share of the memory of the machine or container, as in the images (deploy/Dockerfile); the rest is for buffers and
 * children.
 */
const percent = 60;
/** More than a process with all services needs after floods of large bodies. */
const mostMiB = 1_024;
/** Less is too little to start. */
const leastMiB = 128;

/** Option of Node limiting the heap of each of so many processes, by the memory there is for all of them. */
export function heapLimit(processes: number, memoryBytes = memoryOfMachine()): string {
  const shareMiB = Math.floor((memoryBytes / 2 ** 20 / processes) * (percent / 100));
  return `--max-old-space-size=${Math.max(leastMiB, Math.min(mostMiB, shareMiB))}`;
}

/** The container's limit if it has one. */
function memoryOfMachine(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Infinity);
}
