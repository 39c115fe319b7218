import type { Logger } from '@gatehouse/kit/log';
import type { Kafka } from 'kafkajs';

/**
 * Creates a client with our logger at level warn, because kafkajs logs every rebalance as an error. Loads the 143 files
 * of kafkajs, 70 ms of processor time, so processes without Kafka start without them.
 */
export async function kafkaClient(clientId: string, brokers: readonly string[], log: Logger): Promise<Kafka> {
  const { Kafka, logLevel } = await import('kafkajs');
  return new Kafka({
    clientId,
    brokers: [...brokers],
    connectionTimeout: 3_000,
    requestTimeout: 10_000,
    // Retries of a single call; beyond them the caller retries.
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 },
    // Its warnings are only advice to developers.
    logLevel: logLevel.ERROR,
    logCreator:
      () =>
      ({ log: entry }) => {
        const { message, error } = entry as { message: string; error?: unknown };
        log.warn({ kafka: typeof error === 'string' ? error : undefined }, `kafka: ${message}`);
      },
  });
}
