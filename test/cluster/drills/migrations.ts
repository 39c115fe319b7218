import { buildChatWithMigration } from '../images.ts';
import { unnoticed, type Drill } from '../drill.ts';
import type { ClusterSystem, Values } from '../cluster-system.ts';

const slowSeconds = 15;
const slow = {
  name: '9001_cluster_drill',
  sql: `create table chat.cluster_drill (id int);\nselect pg_sleep(${slowSeconds});\n`,
};
const failing = { name: '9002_cluster_drill_fails', sql: 'select 1 / 0;\n' };

function chatTag(tag: string): Values {
  return { services: { chat: { image: { tag } } } };
}

/** Images of chat's pods that are not being deleted. */
async function tagsOfChat(cluster: ClusterSystem): Promise<string[]> {
  const pods = await cluster.pods('chat');
  return [...new Set(pods.map(({ spec }) => spec.containers[0]?.image.split(':').at(-1) ?? ''))];
}

/** The schema changes before the pods do, or neither does. */
export const migrations: readonly Drill[] = [
  {
    name: 'pending-migration',
    title: `Upgrade with a migration of ${slowSeconds} s: no new pod before it is done`,
    async run(cluster) {
      const tag = `${cluster.settings.imageTag}-slow`;
      await buildChatWithMigration(cluster.settings, tag, slow);
      const result = await unnoticed(cluster, () => cluster.deploy(chatTag(tag)));
      const [row] = await cluster.rows<{ run_on: Date }>(
        'select run_on from chat.migrations where name = $1',
        [slow.name],
      );
      const pods = await cluster.pods('chat');
      const first = Math.min(...pods.map(({ metadata }) => Date.parse(metadata.creationTimestamp)));
      // Kubernetes keeps whole seconds, rounded down; a transaction's time is its beginning.
      const done = (row?.run_on.getTime() ?? Infinity) + slowSeconds * 1_000;
      if (!(first + 1_000 > done))
        throw new Error(`a new pod began ${(done - first) / 1_000} s before the migration was done`);
      return `the first new pod came ${Math.round((first - done) / 1_000)} s after it was done; ${result}`;
    },
  },
  {
    name: 'failing-migration',
    title: 'Upgrade with a migration that fails: the old version goes on serving',
    async run(cluster) {
      const before = await tagsOfChat(cluster);
      const tag = `${cluster.settings.imageTag}-fails`;
      await buildChatWithMigration(cluster.settings, tag, failing);
      let refusal = '';
      const result = await unnoticed(cluster, async () => {
        await cluster.deploy(chatTag(tag)).catch((error: unknown) => {
          refusal = (error as Error).message;
        });
      });
      if (refusal === '') throw new Error('helm took the upgrade for a success');
      const after = await tagsOfChat(cluster);
      if (after.join() !== before.join())
        throw new Error(`chat runs ${after.join()} instead of ${before.join()}`);
      // The next upgrade, without it, goes through.
      await cluster.deploy();
      return `helm failed, no pod changed; the next upgrade went through; ${result}`;
    },
  },
];
