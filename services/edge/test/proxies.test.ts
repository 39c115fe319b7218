import { once } from 'node:events';
import { Agent, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { handedOver } from '@gatehouse/http/principal-check';
import { ask, sending, startEdge, stopAll, stopLater, waysOfAnswers } from './proxy-fixture.ts';

/** How answers come back through the edge, whichever way they take. */

afterEach(stopAll);

function endless(response: ServerResponse): void {
  while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
  if (!response.destroyed) response.once('drain', () => endless(response));
}

const frame = 'data: {"choices":[]}\n\n';
const types = ['application/json', 'text/event-stream'] as const;

it('no cache stores an answer of the edge itself', async () => {
  const edge = await startEdge();
  for (const path of ['/health', '/api/hello', '/v1/agents', '/none', '/v1beta/models', '/v1/messages/none'])
    expect((await fetch(edge.url + path)).headers.get('cache-control')).toBe('no-store');
});

describe.each(waysOfAnswers)('$way', ({ path, startEdge }) => {
  describe('a request id', () => {
    it.each([
      ['that is valid', 'r-1', /^r-1$/],
      ['that is not', 'r 1', /^[0-9a-f-]{36}$/],
    ])(
      '%s: the service and the client get the same, whatever the service answers',
      async (_name, id, expected) => {
        let arrived: unknown;
        const edge = await startEdge({}, (incoming, response) => {
          arrived = handedOver(incoming)?.requestId ?? incoming.headers['x-request-id'];
          response.setHeader('x-request-id', 'other').end('{}');
        });
        const answer = await ask(edge, path, { headers: { 'x-request-id': id } });
        expect(answer.status).toBe(200);
        expect(answer.headers.get('x-request-id')).toMatch(expected);
        expect(answer.headers.get('x-request-id')).toBe(arrived);
      },
    );
  });

  it.each([
    [200, {}, 'no-store'],
    [404, {}, 'no-store'],
    [200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }, 'no-cache'],
  ])('an answer %i with %j is %s', async (status, headers, expected) => {
    const edge = await startEdge({}, (_incoming, response) => response.writeHead(status, headers).end('{}'));
    const answer = await ask(edge, path);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([status, expected]);
  });

  describe('a service', () => {
    it('that rejects the assertion is a 502: the client’s key is valid', async () => {
      const edge = await startEdge({}, (_request, response) =>
        response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('{"error":{"code":"invalid_api_key"}}'),
      );
      const answer = await ask(edge, path);
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([502, null]);
      expect(await answer.json()).toMatchObject({
        error: { type: 'api_error', code: 'bad_gateway', request_id: answer.headers.get('x-request-id') },
      });
    });

    it('that breaks off in the middle of an answer breaks off the client’s', async () => {
      const edge = await startEdge({}, (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{"half":');
        setTimeout(() => response.destroy(), 100);
      });
      const answer = await ask(edge, path);
      expect(answer.status).toBe(200);
      await expect(answer.text()).rejects.toThrow();
    });

    it.each([
      ['after an event', frame, ''],
      ['within an event', 'data: {"cho', '\n\n'],
    ])(
      'that breaks off a stream ends it with an error event and a normal close: %s',
      async (_name, sent, gap) => {
        const edge = await startEdge({}, (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write(sent);
          setTimeout(() => response.destroy(), 100);
        });
        const answer = await ask(edge, path);
        const text = await answer.text();
        expect(text.startsWith(`${sent}${gap}data: `)).toBe(true);
        expect(JSON.parse(text.slice(sent.length + gap.length + 6))).toMatchObject({
          error: { code: 'bad_gateway', request_id: answer.headers.get('x-request-id') },
        });
        expect(text.endsWith('\n\n')).toBe(true);
      },
    );
  });

  describe('a client that leaves', () => {
    it('before the answer ends the request to the service', async () => {
      const [arrived, ended] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
      const edge = await startEdge({}, (incoming, response) => {
        incoming.resume();
        response.on('close', () => ended.resolve(undefined));
        arrived.resolve(undefined);
      });
      const leave = new AbortController();
      const asked = ask(edge, path, { signal: leave.signal });
      await arrived.promise;
      leave.abort();
      await expect(asked).rejects.toThrow();
      await ended.promise;
    });

    it.each(types)('in the middle of an answer ends the request to the service: %s', async (type) => {
      const ended = Promise.withResolvers<undefined>();
      const edge = await startEdge({}, (incoming, response) => {
        incoming.resume();
        response.on('close', () => ended.resolve(undefined));
        response.writeHead(200, { 'content-type': type }).write(frame);
      });
      const leave = new AbortController();
      const answer = await ask(edge, path, { signal: leave.signal });
      leave.abort();
      await expect(answer.text()).rejects.toThrow();
      await ended.promise;
    });

    it.each(types)('without closing, and reads nothing, ends at both sides: %s', async (type) => {
      const cancelled = Promise.withResolvers<undefined>();
      const edge = await startEdge({ UNREAD_TIMEOUT_MS: '500' }, (incoming, response) => {
        incoming.resume();
        response.on('close', () => cancelled.resolve(undefined));
        response.writeHead(200, { 'content-type': type });
        endless(response);
      });
      const { socket } = sending(edge, path, 2);
      socket.write('{}');
      socket.pause();
      await cancelled.promise;
      // Bytes that had arrived before can still be read; then the connection ends.
      const closed = once(socket, 'close');
      socket.resume();
      await closed;
    });
  });

  describe('a client’s connection', () => {
    it('is kept when a service closes its own, until a drain begins: then each answer closes it', async () => {
      // It closes each connection after one answer, as one that drains does.
      const edge = await startEdge({ DRAIN_DELAY_MS: '1000' }, (incoming, response) => {
        incoming.resume().on('end', () => response.setHeader('connection', 'close').end('{}'));
      });
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      stopLater(() => agent.destroy());
      const connectionAfter = async (): Promise<[number | undefined, string | undefined]> => {
        const headers = { authorization: `Bearer ${edge.key}`, 'content-type': 'application/json' };
        const asking = request(edge.url + path, { method: 'POST', headers, agent });
        asking.end('{}');
        const [response] = (await once(asking, 'response')) as [IncomingMessage];
        await response.toArray();
        return [response.statusCode, response.headers.connection];
      };
      expect(await connectionAfter()).toEqual([200, 'keep-alive']);
      expect(await connectionAfter()).toEqual([200, 'keep-alive']);
      const stopped = edge.stop();
      expect(await connectionAfter()).toEqual([200, 'close']);
      expect(await connectionAfter()).toEqual([200, 'close']);
      await stopped;
    });
  });

  describe('what is not over at the end of the drain time', () => {
    it('ends with the error event and a normal close, if it is a stream', async () => {
      const left = Promise.withResolvers<number>();
      const edge = await startEdge({ DRAIN_TIMEOUT_MS: '500' }, (incoming, response) => {
        incoming.resume();
        response.on('close', () => left.resolve(performance.now()));
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(frame);
      });
      const response = await ask(edge, path);
      const stopped = edge.stop();
      const text = await response.text();
      const endedAt = performance.now();
      expect(text.startsWith(`${frame}data: `)).toBe(true);
      expect(JSON.parse(text.slice(frame.length + 6))).toMatchObject({
        error: { code: 'bad_gateway', request_id: response.headers.get('x-request-id') },
      });
      // The service's request ends at once, so that it stops calling its provider.
      expect((await left.promise) - endedAt).toBeLessThan(500);
      await stopped;
    });

    it('is a 502 before its answer has begun', async () => {
      const arrived = Promise.withResolvers<undefined>();
      const edge = await startEdge({ DRAIN_TIMEOUT_MS: '500' }, () => arrived.resolve(undefined));
      const asked = ask(edge, path);
      await arrived.promise;
      const stopped = edge.stop();
      const response = await asked;
      expect([response.status, await response.json()]).toMatchObject([
        502,
        { error: { code: 'bad_gateway', request_id: response.headers.get('x-request-id') } },
      ]);
      await stopped;
    });
  });
});
