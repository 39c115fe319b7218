import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import path from 'node:path';
import { freePort } from '@gatehouse/local/ports';
import { stringify } from 'yaml';
import { Children } from './children.ts';
import { startGateway, type Gateway } from './contest.ts';
import { makeFolder } from './folder.ts';
import { pin } from './processes.ts';

interface Ground {
  /** The script of the provider; its first argument is its port. */
  provider: string;
  /** The operator's catalogue, by the provider's address. */
  catalogue: (url: string) => object;
  /** How the load is described in the first line. */
  load: string;
  /** Whether PostgreSQL is on the core of the services; otherwise it is on that of the load. */
  sharesOneCore: boolean;
}

/** Measures one process with all services, on a core of its own, and removes everything at the end. */
export async function withGateway(
  { provider: script, catalogue, load, sharesOneCore }: Ground,
  measure: (gateway: Gateway) => Promise<void>,
): Promise<void> {
  const { folder, remove } = await makeFolder();
  const children = new Children();
  try {
    console.log(
      `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${load}\n`,
    );
    const port = await freePort();
    const provider = children.start(script, { args: [String(port)] });
    await once(provider, 'message');
    const models = path.join(folder, 'models.yaml');
    await writeFile(models, stringify(catalogue(`http://127.0.0.1:${port}`)));
    pin(process.pid, 1);
    pin(provider.pid ?? 0, 1);
    const root = path.join(import.meta.dirname, '../..');
    const gateway = await startGateway({ children, folder, size: 'one', name: 'gateway', root, models });
    for (const { name, pid } of gateway.processes) pin(pid, sharesOneCore || isGateway(name) ? 0 : 1);
    await measure(gateway);
  } finally {
    await children.stop();
    await remove();
  }
}

export function isGateway(name: string): boolean {
  return name.startsWith('gatehouse');
}
