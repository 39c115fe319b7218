import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { RewrapJob, type RewrapOptions } from '@gatehouse/secrets/rewrap-job';

const sample = /^gatehouse_sealed_values\{table="(\w+)",[^}]*\} (\d+)$/gm;

/** The work by which replicas of a service make an old key of their ring removable. */
export function testRewrapJob(options: Omit<RewrapOptions, 'log' | 'registry'>) {
  const registry = createRegistry('test', { ofProcess: false });
  const job = new RewrapJob({ ...options, log: createLogger('test', 'silent'), registry });
  return {
    rewrapAll: async (): Promise<void> => {
      while (await job.round());
    },
    /** The values that an old key has wrapped, by table; the metric of a service. */
    left: async (): Promise<Record<string, number>> => {
      await job.count();
      const counts = [...(await registry.metrics()).matchAll(sample)].map(([, table, count]) => [
        table,
        Number(count),
      ]);
      return Object.fromEntries(counts.filter(([, count]) => count !== 0)) as Record<string, number>;
    },
  };
}
