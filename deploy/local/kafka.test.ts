import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { kafkaAnswers } from './kafka-answers.ts';
import { kafkaObstacle } from './kafka-jars.ts';
import { startKafka, type RunningKafka } from './kafka.ts';
import { freePort, loopback } from './ports.ts';
import { isAlive } from './processes.ts';

const obstacle = await kafkaObstacle();
const describeWithKafka = obstacle === undefined ? describe : describe.skip;
/** Includes downloading the jars at first use. */
const startLimitMs = 300_000;
const topic = 'kept';

/** A server other than Kafka: sends nothing, or the same bytes to every client. */
async function otherServer(port: number, answer?: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).resume();
    if (answer !== undefined) socket.end(answer);
  });
  server.listen(port, loopback);
  await once(server, 'listening');
  return server;
}

describeWithKafka(`the local Kafka${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`, () => {
  let folder: string;
  let directory: string;
  let port: number;
  let server: RunningKafka | undefined;

  beforeAll(async () => {
    // A folder name with characters that are special in Java properties.
    folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-kafka é '));
    directory = path.join(folder, 'kafka');
    port = await freePort();
  });

  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(): Promise<RunningKafka> {
    server = await startKafka({ directory, port });
    return server;
  }

  function client(): Kafka {
    return new Kafka({
      brokers: [server?.brokers ?? ''],
      logLevel: logLevel.NOTHING,
    });
  }

  async function send(...values: string[]): Promise<void> {
    const producer = client().producer();
    await producer.connect();
    await producer.send({ topic, acks: -1, messages: values.map((value) => ({ value })) });
    await producer.disconnect();
  }

  /** All values of the topic, read by a new consumer group. */
  async function received(count: number): Promise<string[]> {
    const values: string[] = [];
    const consumer = client().consumer({ groupId: `reader-${Math.random()}` });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await new Promise<void>((resolve) => {
      void consumer.run({
        eachMessage: async ({ message }) => {
          values.push(message.value?.toString() ?? '');
          if (values.length === count) resolve();
        },
      });
    });
    await consumer.disconnect();
    return values;
  }

  async function clusterId(): Promise<string> {
    const properties = await readFile(path.join(directory, 'data/meta.properties'), 'utf8');
    return /^cluster\.id=(.+)$/m.exec(properties)?.[1] ?? '';
  }

  it(
    'answers when started, and creates topics only on request',
    async () => {
      await start();
      expect(server?.brokers).toBe(`${loopback}:${port}`);
      const admin = client().admin();
      await admin.connect();
      await admin.createTopics({ topics: [{ topic, numPartitions: 1 }] });
      await expect(admin.fetchTopicMetadata({ topics: ['unknown'] })).rejects.toThrow('does not host');
      expect(await admin.listTopics()).toEqual([topic]);
      await admin.disconnect();
      await send('first');
      expect(await received(1)).toEqual(['first']);
    },
    startLimitMs,
  );

  it(
    'keeps topics, messages and its cluster id over a stop and a start on another port',
    async () => {
      const id = await clusterId();
      expect(id).toMatch(/^[\w-]{22}$/);
      await server?.stop();
      expect(await server?.ended).toBe('exited with code 143');
      port = await freePort();
      await start();
      await send('second');
      expect(await received(2)).toEqual(['first', 'second']);
      expect(await clusterId()).toBe(id);
    },
    startLimitMs,
  );

  it(
    'keeps what was acknowledged when it is killed, and runs again on the same port',
    async () => {
      await send('third');
      server?.kill();
      expect(await server?.ended).toBe('exited with signal SIGKILL');
      await start();
      expect(await received(3)).toEqual(['first', 'second', 'third']);
    },
    startLimitMs,
  );

  it(
    'stops the one that an earlier run has left on the same folder',
    async () => {
      const left = server;
      await start();
      await left?.ended;
      expect(server?.pid).not.toBe(left?.pid);
      expect(await received(3)).toEqual(['first', 'second', 'third']);
    },
    startLimitMs,
  );

  it('leaves no process behind when stopped', async () => {
    await server?.stop();
    expect(server).toBeDefined();
    expect(isAlive(server?.pid ?? 0)).toBe(false);
    expect(await kafkaAnswers(loopback, port, 1_000)).toBe(false);
  });

  it(
    "reports the reason from its log when it can't start",
    async () => {
      await using _other = await otherServer(port);
      await expect(start()).rejects.toThrow(/Address already in use/);
    },
    startLimitMs,
  );
});

describe('the question whether Kafka answers', () => {
  it('is no for a port that only accepts connections', async () => {
    const port = await freePort();
    await using _other = await otherServer(port);
    expect(await kafkaAnswers(loopback, port, 100)).toBe(false);
  });

  it('is no for a port where something else answers', async () => {
    const port = await freePort();
    await using _other = await otherServer(port, 'HTTP/1.1 400 Bad Request\r\n\r\n');
    expect(await kafkaAnswers(loopback, port, 1_000)).toBe(false);
  });
});
