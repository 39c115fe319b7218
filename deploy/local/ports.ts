import { createServer } from 'node:net';

/**
 * Below the Linux range of ephemeral ports (32768 and up): an outgoing connection could take a port of that range while
 * its service restarts.
 */
const firstPort = 20_000;
const lastPort = 31_999;

export const loopback = '127.0.0.1';

/** Whether nothing listens on the port. */
export async function isPortFree(port: number, host: string = loopback): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/**
 * Processes that look for ports at the same time begin far from each other, and each goes on where it was: a port that
 * one has found and not opened yet is not found by another.
 */
const count = lastPort - firstPort + 1;
let next = (process.pid * 2_003) % count;

/** A port that nothing listens on and that this process was not given before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = firstPort + next;
    next = (next + 1) % count;
    if (await isPortFree(port)) return port;
  }
  throw new Error(`No free port found between ${firstPort} and ${lastPort}.`);
}
