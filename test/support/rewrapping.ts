import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { Rewrapping, type RewrappingOptions } from '@gatehouse/secrets/rewrapping';

const sample = /^gatehouse_sealed_values\{table="(\w+)",[^}]*\} (\d+)$/gm;

/** The work by which replicas of a service make an old key of their ring removable. */
export function testRewrapping(options: Omit<RewrappingOptions, 'log' | 'registry'>) {
  const registry = createRegistry('test', { ofProcess: false });
  const rewrapping = new Rewrapping({ ...options, log: createLogger('test', 'silent'), registry });
  return {
    rewrapAll: async (): Promise<void> => {
      while (await rewrapping.round());
    },
    /** The values that an old key has wrapped, by table; the metric of a service. */
    left: async (): Promise<Record<string, number>> => {
      await rewrapping.count();
      const counts = [...(await registry.metrics()).matchAll(sample)].map(([, table, count]) => [
        table,
        Number(count),
      ]);
      return Object.fromEntries(counts.filter(([, count]) => count !== 0)) as Record<string, number>;
    },
  };
}
