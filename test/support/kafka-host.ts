import { once } from 'node:events';
import { createServer } from 'node:net';
import path from 'node:path';
import { startKafka, type RunningKafka } from '@gatehouse/local/kafka';
import { freePort, loopback } from '@gatehouse/local/ports';

/** The port on which workers ask for Kafka. */
export const kafkaHostVariable = 'GATEHOUSE_TEST_KAFKA_HOST_PORT';

export type KafkaAnswer = { brokers: string } | { error: string };

export function kafkaFolder(runFolder: string): string {
  return path.join(runFolder, 'kafka');
}

/**
 * Starts one Kafka for the run when a test file first asks for it, and returns how to stop it. It lives in the process
 * that sets up and tears down, which outlives every worker: workers ask it, so that there is neither a lock among
 * them nor a guess about which of the selected tests need Kafka.
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
    // A worker that has been ended meanwhile.
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
