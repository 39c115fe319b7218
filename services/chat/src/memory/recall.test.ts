import { expect, it } from '@jest/globals';
import { RpcClient } from '@gatehouse/grpc/client';
import { isUnreachable } from '@gatehouse/grpc/errors';
import { AppError } from '@gatehouse/kit/errors';
import { freePort } from '@gatehouse/local/ports';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { testIdentity } from '@gatehouse/test/identity';
import { MemoryClient } from './memory-client.ts';
import { RecallStep, type RecallOptions, type RecallTurn } from './recall.ts';

const telemetry = {
  within: (trace) => trace,
  recalled: () => undefined,
} satisfies RecallOptions['telemetry'];

/** A search reads no more of a turn. */
function turnOf(tenantId: string): RecallTurn {
  const turn = {
    request: { lastUserText: () => ({ text: 'How long?', index: 0 }) },
    actor: { tenantId, requestId: 'r', trace: undefined, proofFor: () => Promise.resolve('assertion') },
    target: { agentId: 'a', memory: { analyser: 'simple', recall_limit: 3, min_score: 0.4 } },
    sessionId: null,
    arrivedAt: 0,
  };
  return turn as unknown as RecallTurn;
}

/** The searches of each tenant that were made, after so many that failed for the first. */
async function searchesAfter(failures: number, recall: RecallOptions['memory']['recall']): Promise<number[]> {
  let searches = 0;
  const counted: typeof recall = (request, context) => {
    searches += 1;
    return recall(request, context);
  };
  const step = new RecallStep({ memory: { recall: counted, isUnreachable }, telemetry, budgetMs: 10_000 });
  for (let n = 0; n < failures; n += 1) await step.run(turnOf('a'));
  const ofFirst = searches;
  expect((await step.run(turnOf('b'))).recall?.outcome).toBe('unavailable');
  return [ofFirst, searches - ofFirst];
}

it('a memory that has no connection is asked for no tenant', async () => {
  const addresses = [`127.0.0.1:${await freePort()}`];
  const signer = await (await testIdentity()).signer('chat');
  const peer = new RpcClient({ peer: 'memory', addresses, stub: MemoryServiceClient, signer });
  const client = new MemoryClient(peer);
  expect(await searchesAfter(10, (request, context) => client.recall(request, context))).toEqual([10, 0]);
  peer.close();
});

it('a memory that fails for one tenant is asked for another', async () => {
  const fail = (): Promise<never> => Promise.reject(new AppError('service_unavailable', 'not this tenant'));
  expect(await searchesAfter(10, fail)).toEqual([10, 1]);
});
