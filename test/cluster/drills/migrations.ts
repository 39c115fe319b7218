import type { ClusterSystem, Values } from '../cluster-system.ts';
import { unnoticed, type Drill } from '../drill.ts';
import { buildChatWith } from '../images.ts';

const slowSeconds = 15;
const slow = {
  name: '9001_cluster_drill',
  sql: `create table chat.cluster_drill (id int);\nselect pg_sleep(${slowSeconds});\n`,
};
const failing = { name: '9002_cluster_drill_fails', sql: 'select 1 / 0;\n' };

function chatTag(tag: string): Values {
  return { services: { chat: { image: { tag } } } };
}

/** Tags of the images that chat's pods run. */
async function tagsOfChat(cluster: ClusterSystem): Promise<string> {
  const pods = await cluster.pods('chat');
  return [...new Set(pods.map(({ spec }) => spec.containers[0]?.image.split(':').at(-1)))].join();
}

/** The schema changes before the pods do, or neither does. */
export const migrations: readonly Drill[] = [
  {
    name: 'pending-migration',
    separate: true,
    title: `Upgrade with a migration of ${slowSeconds} s: no new pod before it is done`,
    async run(cluster) {
      const tag = `${cluster.settings.imageTag}-slow`;
      await buildChatWith(cluster.settings, tag, [slow]);
      const result = await unnoticed(cluster, () => cluster.deploy(chatTag(tag)));
      const [row] = await cluster.rows<{ run_on: Date }>(
        'select run_on from chat.migrations where name = $1',
        [slow.name],
      );
      // All of them are new: the others have gone.
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
    separate: true,
    title: 'Upgrade with a migration that fails: the old version goes on serving',
    async run(cluster) {
      const before = await tagsOfChat(cluster);
      const tag = `${cluster.settings.imageTag}-fails`;
      await buildChatWith(cluster.settings, tag, [slow, failing]);
      const result = await unnoticed(cluster, async () => {
        const succeeded = await cluster.deploy(chatTag(tag)).then(
          () => true,
          () => false,
        );
        if (succeeded) throw new Error('helm took the upgrade for a success');
      });
      const log = await cluster.kubectl(['logs', 'job/gw-migrations', '--all-containers', '--ignore-errors']);
      if (!log.includes('division by zero')) throw new Error(`it failed for another reason: ${log}`);
      const after = await tagsOfChat(cluster);
      if (after !== before) throw new Error(`chat runs ${after} instead of ${before}`);
      // The next upgrade, without it, goes through.
      await cluster.deploy();
      return `helm failed, no pod changed; the next upgrade went through; ${result}`;
    },
  },
];
