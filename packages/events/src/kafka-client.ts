import type { Logger } from '@gatehouse/kit/log';
import { Kafka, logLevel } from 'kafkajs';

/** A client whose log lines come out as ours. kafkajs calls every rebalance an error; we do not. */
export function kafkaClient(clientId: string, brokers: readonly string[], log: Logger): Kafka {
  return new Kafka({
    clientId,
    brokers: [...brokers],
    connectionTimeout: 3_000,
    requestTimeout: 10_000,
    // Attempts of one call; who calls decides about more.
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 },
    // Its warnings are advice to developers.
    logLevel: logLevel.ERROR,
    logCreator:
      () =>
      ({ log: entry }) => {
        const { message, error } = entry as { message: string; error?: unknown };
        log.warn({ kafka: typeof error === 'string' ? error : undefined }, `kafka: ${message}`);
      },
  });
}
