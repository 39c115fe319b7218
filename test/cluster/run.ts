import { Backends } from './backends.ts';
import { ClusterSystem } from './cluster-system.ts';
import type { Drill } from './drill.ts';
import { autoscaling } from './drills/autoscaling.ts';
import { endToEnd } from './drills/end-to-end.ts';
import { install } from './drills/install.ts';
import { isolation } from './drills/isolation.ts';
import { killedPod } from './drills/killed-pods.ts';
import { limits } from './drills/limits.ts';
import { migrations } from './drills/migrations.ts';
import { plannedChanges } from './drills/planned-changes.ts';
import { uninstall } from './drills/uninstall.ts';
import { buildImages } from './images.ts';
import { loadSettings, type ClusterSettings } from './settings.ts';
import { workloadsOf } from './workloads.ts';

/**
 * `make test-cluster`: builds the images, installs the chart in a namespace of its own on the cluster that KUBECONFIG
 * names, puts it through every drill and prints a table. It removes afterwards what it made in the cluster.
 */
const drillsOf = (settings: ClusterSettings): readonly Drill[] => [
  ...plannedChanges,
  ...workloadsOf(settings).map(killedPod),
  limits,
  ...migrations,
  autoscaling,
  isolation,
  endToEnd,
  uninstall,
];

interface Row {
  title: string;
  passed: boolean;
  seconds: number;
  details: string;
}

async function attempt(drill: Drill, cluster: ClusterSystem): Promise<Row> {
  const { title } = drill;
  const start = performance.now();
  const seconds = (): number => Math.round((performance.now() - start) / 1_000);
  process.stderr.write(`-- ${drill.name}: ${title}\n`);
  try {
    const details = await drill.run(cluster);
    process.stderr.write(`   ${details} (${seconds()} s)\n`);
    return { title, passed: true, seconds: seconds(), details };
  } catch (error) {
    process.stderr.write(`   FAILED: ${String((error as Error).stack)}\n`);
    process.stderr.write(`${await cluster.diagnosis().catch(String)}\n`);
    return {
      title,
      passed: false,
      seconds: seconds(),
      details: firstLine(error),
    };
  }
}

function firstLine(error: unknown): string {
  return (error as Error).message.split('\n')[0] ?? '';
}

async function runAll(settings: ClusterSettings): Promise<Row[]> {
  const wanted = (drill: Drill): boolean =>
    (settings.only.length === 0 || settings.only.includes(drill.name)) &&
    !(settings.composed && drill.separate === true);
  const backends = await Backends.start(settings.host);
  const cluster = new ClusterSystem(settings, backends);
  const stop = onSignal(async () => {
    try {
      await cluster.remove();
    } finally {
      // Also where the cluster is gone already.
      await backends.stop();
    }
  });
  try {
    const rows = [await attempt(install, cluster)];
    // The drills need an installed system.
    if (rows[0]?.passed === true)
      for (const drill of drillsOf(settings).filter(wanted)) rows.push(await attempt(drill, cluster));
    return rows;
  } finally {
    await stop();
  }
}

/** Cleans up once, at the end or at a signal before it. */
function onSignal(cleanUp: () => Promise<void>): () => Promise<void> {
  let cleaning: Promise<void> | undefined;
  const once = (): Promise<void> => (cleaning ??= cleanUp());
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void once().finally(() => process.exit(130)));
  return once;
}

function print(rows: readonly Row[]): void {
  const cells = rows.map(({ title, passed, seconds, details }) => {
    return `| ${passed ? 'ok' : 'FAILED'} | ${title} | ${details} | ${seconds} s |`;
  });
  console.log(['| | Drill | Measured | Time |', '| --- | --- | --- | --- |', ...cells].join('\n'));
  const passed = rows.filter((row) => row.passed).length;
  console.log(`\n${passed} passed, ${rows.length - passed} failed`);
}

const settings = await loadSettings(process.env);
if (process.env['SKIP_IMAGES'] !== '1') {
  await buildImages(settings, settings.imageTag);
  await buildImages(settings, `${settings.imageTag}-next`);
}
const rows = await runAll(settings);
print(rows);
process.exit(rows.every(({ passed }) => passed) ? 0 : 1);
