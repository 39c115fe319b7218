import path from 'node:path';
import { startKafka, type RunningKafka } from '@gatehouse/local/kafka';
import { hostOnce } from './once-a-run.ts';

/** The port at which workers request Kafka. */
export const kafkaHostVariable = 'GATEHOUSE_TEST_KAFKA_HOST_PORT';

export function kafkaFolder(runFolder: string): string {
  return path.join(runFolder, 'kafka');
}

/** Starts one Kafka for the run when a test file first requests it, and returns a function that stops it. */
export async function hostKafka(runFolder: string): Promise<() => Promise<void>> {
  let kafka: RunningKafka | undefined;
  const end = await hostOnce(kafkaHostVariable, async () => {
    kafka = await startKafka({ directory: kafkaFolder(runFolder) });
    return { brokers: kafka.brokers };
  });
  return async () => {
    await end();
    await kafka?.stop();
  };
}
