import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { allArrived, auditRuns, throwComplaints } from '../chaos/audit.ts';
import type { ClusterSystem } from './cluster-system.ts';
import { failuresOf, SteadyLoad, type Sent } from './steady-load.ts';

/** One row of the table: something that operators do or suffer, and what must hold while it happens. */
export interface Drill {
  /** For DRILLS. */
  name: string;
  title: string;
  /** It treats a service in a way that needs a Deployment for each. */
  separate?: true;
  /** Says what was measured; throws when something did not hold. */
  run: (cluster: ClusterSystem) => Promise<string>;
}

/** Before and after a change, so that it happens in the middle of steady load. */
const leadMs = 5_000;
const settleMs = 5_000;
/** Most conditions are a question to the cluster. */
const pollMs = 500;

/**
 * Makes a change under steady load of a tenant of its own, and holds the records of both sides against each other when
 * all is done. Gives back what the clients saw.
 */
export async function underLoad(cluster: ClusterSystem, change: () => Promise<void>): Promise<Sent[]> {
  const { unaryPerSecond, streams } = cluster.settings;
  const tenant = await cluster.makeTenant();
  cluster.simulator.reset();
  const load = new SteadyLoad({ url: cluster.url, key: tenant.userKey, unaryPerSecond, streams });
  await sleep(leadMs);
  let sent: Sent[];
  try {
    await change();
    await sleep(settleMs);
  } finally {
    sent = await load.stop();
  }
  await within(90_000, 'every run has its end and has arrived', () => allArrived(cluster));
  throwComplaints(await auditRuns(cluster, tenant.id));
  return sent;
}

/** As `underLoad`, for a change that no client may notice. */
export async function unnoticed(cluster: ClusterSystem, change: () => Promise<void>): Promise<string> {
  const sent = await underLoad(cluster, change);
  const failures = failuresOf(sent);
  if (failures.length > 0)
    throw new Error(`${failures.length} of ${sent.length} failed: ${describe(failures)}`);
  return `${sent.length} requests, 0 failed; the ledger is the provider's`;
}

/** The first of them, in a line each. */
export function describe(failures: readonly Sent[]): string {
  return failures
    .slice(0, 5)
    .map(({ at, stream, status, ending, errorCode, ms, detail }) =>
      JSON.stringify({ at: new Date(at).toISOString(), stream, status, ending, errorCode, ms, detail }),
    )
    .join('\n');
}

/** Waits until the condition holds; returns after how many seconds it did. */
export async function within(
  timeoutMs: number,
  what: string,
  condition: () => Promise<boolean>,
): Promise<number> {
  const start = performance.now();
  await eventually(
    async () => {
      if (!(await condition())) throw new Error(`not in ${timeoutMs / 1_000} s: ${what}`);
    },
    timeoutMs,
    pollMs,
  );
  return Math.round((performance.now() - start) / 1_000);
}
