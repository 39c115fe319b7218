import { once } from 'node:events';
import { createServer, get, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dialects } from '@gatehouse/dialects/dialects';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RunStopped } from '../providers/provider-failure.ts';
import { HttpSink } from './client-sink-handlers.ts';

let server: Server;
let arrived = Promise.withResolvers<ServerResponse>();
beforeAll(async () => {
  server = createServer((_request, response) => arrived.resolve(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A request in its handler, and the sink of its turn, which a stop has ended. */
async function stoppedTurn() {
  arrived = Promise.withResolvers();
  const client = get({ port: (server.address() as AddressInfo).port, agent: false });
  client.on('error', () => undefined);
  const response = await arrived.promise;
  const sink = new HttpSink({
    ...{ response, dialect: dialects.chat, requestId: 'r', tenantId: 't', runId: 'r1', traceId: 't1' },
    ...{ limitHeaders: {}, signal: AbortSignal.abort(new RunStopped()), streams: false },
    answers: new AnswerBudget({ perTenant: 1_000_000, perProcess: 1_000_000 }),
    log: createLogger('test', 'silent'),
  });
  return { client, response, sink };
}

const error = new AppError('provider_error', 'The provider acme failed.');
const failure = { cause: error, hasRun: true };

it('answers a client that is there with the failure of a run stopped after it had failed', async () => {
  const { sink } = await stoppedTurn();
  expect(() => sink.fail(error, failure)).toThrow(
    expect.objectContaining({
      code: 'provider_error',
      headers: expect.objectContaining({ 'x-run-id': 'r1' }),
    }),
  );
});

it('answers no client that has left', async () => {
  const { client, response, sink } = await stoppedTurn();
  client.destroy();
  await once(response, 'close');
  expect(() => sink.fail(error, failure)).not.toThrow();
});
