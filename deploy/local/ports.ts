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

const handedOut = new Set<number>();

/** A port that is free and that this process has not handed out before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = firstPort + Math.floor(Math.random() * (lastPort - firstPort + 1));
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await isPortFree(port)) return port;
  }
  throw new Error(`No free port found between ${firstPort} and ${lastPort}.`);
}
