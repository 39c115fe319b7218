import { once } from 'node:events';
import { createServer } from 'node:net';
import path from 'node:path';
import { startKafka, type RunningKafka } from '@gatehouse/local/kafka';
import { freePort, loopback } from '@gatehouse/local/ports';

/** The port at which workers request Kafka. */
export const kafkaHostVariable = 'GATEHOUSE_TEST_KAFKA_HOST_PORT';

export type KafkaAnswer = { brokers: string } | { error: string };

export function kafkaFolder(runFolder: string): string {
  return path.join(runFolder, 'kafka');
}

/**
 * Starts one Kafka for the run when a test file first requests it, and returns a function that stops it. It runs in the
 * process of setup and teardown, which outlives every worker, so that no lock between workers is needed.
 */
export async function hostKafka(runFolder: string): Promise<() => Promise<void>> {
  let kafka: Promise<RunningKafka> | undefined;
  const answer = async (): Promise<KafkaAnswer> => {
    kafka ??= startKafka({ directory: kafkaFolder(runFolder) });
    return kafka.then(
      ({ brokers }) => ({ brokers }),
      (error: unknown) => ({ error: (error as Error).message }),
    );
  };
  const server = createServer((socket) => {
    // The worker may have ended.
    socket.on('error', () => undefined);
    void answer().then((message) => socket.end(JSON.stringify(message)));
  });
  const port = await freePort();
  server.listen(port, loopback).unref();
  await once(server, 'listening');
  process.env[kafkaHostVariable] = String(port);
  return async () => {
    server.close();
    const running = await kafka?.catch(() => undefined);
    await running?.stop();
  };
}
