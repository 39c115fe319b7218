import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * Below the Linux range of ephemeral ports (32768 and up): an outgoing connection could take a port of that range while
 * its service restarts.
 */
const firstPort = 20_000;
const lastPort = 31_999;

/** A service opens its port seconds after it was found: the database is created in between. */
const reservedMs = 120_000;

export const loopback = '127.0.0.1';

/** Whether nothing listens on the port. */
export async function isPortFree(port: number, host: string = loopback): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

const count = lastPort - firstPort + 1;
/** Anywhere: a process may load this module again, and would find its own reservations of before. */
let next = randomInt(count);

/**
 * A TCP port without a listener, not found by any process in the last two minutes: the first of as many in a row as
 * asked for. `make up` gives replicas of the edge the ports following its own.
 */
export async function freePort(inARow = 1): Promise<number> {
  let free = 0;
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = firstPort + next;
    next = (next + 1) % count;
    if (port === firstPort) free = 0;
    free = (await reserve(port)) && (await isPortFree(port)) ? free + 1 : 0;
    if (free === inARow) return port - inARow + 1;
  }
  throw new Error(`No free port found between ${firstPort} and ${lastPort}.`);
}

/**
 * Holds the UDP port of the same number, unused here, so other processes look further while the TCP port isn't open
 * yet. The system frees it when this process ends. Returns false if another process holds it.
 */
async function reserve(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4').unref();
    socket.once('error', () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ port, address: loopback, exclusive: true }, () => {
      setTimeout(() => socket.close(), reservedMs).unref();
      resolve(true);
    });
  });
}
