import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { freePort, loopback } from '@gatehouse/local/ports';

/**
 * Makes something once for a Jest run, when a test file first requests it. `make` runs in the process of setup and
 * teardown, which outlives every worker, so that no lock between workers is needed. Returns a function that ends this and
 * resolves with what was made, if anything was.
 */
export async function hostOnce<Made>(
  variable: string,
  make: () => Promise<Made>,
): Promise<() => Promise<Made | undefined>> {
  let made: Promise<Made> | undefined;
  const server = createServer((socket) => {
    // The worker may have ended.
    socket.on('error', () => undefined);
    made ??= make();
    made.then(
      (value) => socket.end(JSON.stringify(value)),
      (error: unknown) => socket.end(JSON.stringify({ error: (error as Error).message })),
    );
  });
  const port = await freePort();
  server.listen(port, loopback).unref();
  await once(server, 'listening');
  process.env[variable] = String(port);
  return async () => {
    server.close();
    return made?.catch(() => undefined);
  };
}

/** The value that was made for this run; undefined outside of a Jest run. Throws if it could not be made. */
export async function madeOnce<Made extends object>(variable: string): Promise<Made | undefined> {
  const port = process.env[variable];
  if (port === undefined) return undefined;
  const received = await text(connect({ host: loopback, port: Number(port) }));
  const answer = JSON.parse(received) as Made | { error: string };
  if ('error' in answer) throw new Error(answer.error);
  return answer;
}
