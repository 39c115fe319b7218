import type { Script } from './scripted-provider.ts';

/** A stream in these pieces; `cut`: closes the connection behind them. */
export const awsStream =
  (pieces: readonly Buffer[], { cut = false } = {}): Script =>
  async ({ response }) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    for (const piece of pieces) {
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (cut) response.destroy();
    else response.end();
  };
