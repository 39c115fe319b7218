import { availableParallelism, cpus } from 'node:os';
import { queryLocal } from '@gatehouse/test/local-database';
import { Children } from './children.ts';
import { openContest, type Gateway } from './contest.ts';
import { makeFolder } from './folder.ts';
import { closedLoop, eachOnce } from './load.ts';
import { makeTenants, type Targets } from './many-tenants.ts';
import { cpuMs } from './processes.ts';
import { figure, median, print } from './table.ts';

/**
 * `make bench`: requests of 1, 1,000 and 10,000 tenants with one key each, in turns, through one process that shares a
 * core with PostgreSQL. The load and the provider run on the other core. BENCH_TENANTS (10000), BENCH_ROUNDS (3) and
 * BENCH_SECONDS (10) set its length. Below 0.9 of the rate of one tenant it fails.
 */

const tenants = Number(process.env['BENCH_TENANTS'] ?? 10_000);
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 10);
const steps = [1, 1_000, tenants].filter((step, at, all) => step <= tenants && all.indexOf(step) === at);
const promised = 0.9;
const connections = 64;
const warmUpSeconds = 20;

/** The figures of a step, a value for each round. */
interface Figures {
  perSecond: number[];
  /** CPU time of a request, in ms. */
  process: number[];
  postgres: number[];
  /** Transactions of a request, of all services and jobs. */
  transactions: number[];
}

async function transactionsOf({ stateFolder }: Gateway): Promise<number> {
  // Backends report what they have done once they are idle.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const [row] = await queryLocal<{ count: string }>(
    stateFolder,
    'select sum(xact_commit)::text as count from pg_stat_database',
  );
  return Number(row?.count);
}

async function measure(gateway: Gateway, all: Targets): Promise<Map<number, Figures>> {
  const { processes } = gateway;
  const cpuOf = (name: RegExp): number =>
    processes.filter((each) => name.test(each.name)).reduce((sum, { pid }) => sum + cpuMs(pid), 0);
  const results = new Map(
    steps.map((step): [number, Figures] => [
      step,
      { perSecond: [], process: [], postgres: [], transactions: [] },
    ]),
  );
  for (let round = 0; round < rounds; round += 1)
    for (const step of round % 2 === 0 ? steps : steps.toReversed()) {
      const targets: Targets = [all[0], ...all.slice(1, step)];
      await closedLoop(targets, connections, seconds / 2);
      const transactions = await transactionsOf(gateway);
      const before = { process: cpuOf(/gatehouse/), postgres: cpuOf(/postgres/) };
      const { perSecond, requests } = await closedLoop(targets, connections, seconds);
      const each = (total: number): number => total / requests;
      const figures = results.get(step);
      figures?.perSecond.push(perSecond);
      figures?.process.push(each(cpuOf(/gatehouse/) - before.process));
      figures?.postgres.push(each(cpuOf(/postgres/) - before.postgres));
      figures?.transactions.push(each((await transactionsOf(gateway)) - transactions));
    }
  return results;
}

function report(results: ReadonlyMap<number, Figures>): void {
  const all = [...results.values()];
  const rates = all.map(({ perSecond }) => median(perSecond));
  const ratios = rates.map((rate) => rate / (rates[0] ?? NaN));
  const row = (name: string, of: (figures: Figures) => number[]): string[] => [
    name,
    ...all.map((figures) => figure(median(of(figures)), 3)),
  ];
  print([
    [`of ${tenants} tenants with a key each, call`, ...steps.map(String)],
    ['requests/s, 64 connections', ...rates.map((rate) => figure(rate, 0))],
    ['  to that of one', ...ratios.map((ratio) => figure(ratio, 2))],
    row('CPU ms/request: process', (figures) => figures.process),
    row('  PostgreSQL', (figures) => figures.postgres),
    row('transactions/request', (figures) => figures.transactions),
  ]);
  if (ratios.some((ratio) => ratio < promised)) {
    console.log(`below ${promised} of the rate of one tenant`);
    process.exitCode = 1;
  }
}

const { folder, remove } = await makeFolder();
const children = new Children();
try {
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), one process on one core with PostgreSQL, ${rounds} rounds of ${seconds} s\n`,
  );
  const revisions = [{ name: 'gateway', root: `${import.meta.dirname}/../..` }];
  const contest = await openContest({ children, folder, size: 'one', sharesOneCore: true, revisions });
  const [gateway] = contest.gateways;
  if (gateway === undefined) throw new Error('there is no gateway');
  const all = await makeTenants(gateway, tenants);
  await queryLocal(gateway.stateFolder, 'analyze');
  // The first request of a key loads it and its tenant's settings.
  await eachOnce(all, connections);
  await closedLoop(all, connections, warmUpSeconds);
  await queryLocal(gateway.stateFolder, 'checkpoint');
  report(await measure(gateway, all));
} finally {
  await children.stop();
  await remove();
}
