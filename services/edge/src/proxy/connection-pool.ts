import { Agent, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import { connectTimeoutMs, idleMs } from './upstream-error.ts';

/** Node's pool of kept connections with a connect timeout, which Node's own lacks. */
export class ConnectionPool extends Agent {
  constructor() {
    super({ keepAlive: true, timeout: idleMs });
  }

  override createConnection(
    options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const connection = super.createConnection(options, callback);
    if (connection === null || connection === undefined) return connection;
    const timer = setTimeout(() => {
      const error = new Error(`no connection within ${connectTimeoutMs} ms`);
      connection.destroy(Object.assign(error, { code: 'ETIMEDOUT', syscall: 'connect' }));
    }, connectTimeoutMs);
    for (const event of ['connect', 'close']) connection.once(event, () => clearTimeout(timer));
    return connection;
  }
}
