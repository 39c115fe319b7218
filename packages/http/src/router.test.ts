import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RouteMatcher, type Match } from '@gatehouse/contract/match';
import { routes } from '@gatehouse/contract/routes';
import { innerServices } from '@gatehouse/contract/services';
import { routerOf } from './router.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const values = [
  'a',
  '0198c2b0-3d5a-7a41-8f2e-6b1c9d0e4f32',
  'ü%C3%BC'.slice(1),
  'a%2Fb',
  'a%20b',
  'follow',
  'x',
];

/** Paths of a route: each parameter with several values, and near misses. */
function pathsOf(path: string): string[] {
  const filled = values.flatMap((value) => [
    path.replace(/\{\w+\}/g, value).replace(/\{\w+\+\}/g, value),
    path.replace(/\{\w+\}/g, value).replace(/\{\w+\+\}/g, `${value}/more`),
  ]);
  const odd = filled.flatMap((each) => [
    `${each}/`,
    each.toUpperCase(),
    `${each}/%zz`,
    `/${each}`,
    `${each}/..`,
    `${each}/%2e%2e/x`,
    `${each}#x`,
    `${each}#/x`,
    `${each}x`,
  ]);
  return [...new Set([...filled, ...odd])];
}

interface Answered {
  match: Match;
  url: string | undefined;
}

describe.each(innerServices)('the router of %s', (service) => {
  const own = routes.filter((route) => route.service === service);
  const matcher = new RouteMatcher(own);
  const found = new Map<string | undefined, Answered>();
  let server: Server;

  beforeAll(async () => {
    const app = routerOf(own, (request, response, match) => {
      found.set(request.headers['x-request-id']?.toString(), { match, url: request.url });
      response.end();
      return Promise.resolve();
    });
    server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(() => found.clear());
  afterAll(() => void server.close());

  /** Sends a request, as bytes, and returns its answer. The last one of a connection closes it. */
  async function send(requests: string): Promise<string> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    return text(socket.end(Buffer.from(requests, 'latin1')));
  }

  it('finds the route, its parameters and its methods as the edge does', async () => {
    const paths = [...new Set(own.flatMap(({ path }) => pathsOf(path)))];
    expect(paths.length).toBeGreaterThan(10);
    const cases = paths.flatMap((path) => methods.map((method) => ({ method, path })));
    // On one connection and without waiting: a client that waits for each takes five times the processor time.
    const requests = cases.map(
      ({ method, path }, at) =>
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${at}\r\n${at === cases.length - 1 ? 'Connection: close\r\n' : ''}\r\n`,
    );
    const answers = await send(requests.join(''));
    expect(answers.match(/^HTTP\/1\.1 /gm)).toHaveLength(cases.length);
    const different = cases
      .map((each, at) => ({
        ...each,
        mine: shown(found.get(String(at))?.match),
        edges: shown(matcher.match(each.method, each.path)),
      }))
      .filter(({ mine, edges }) => mine !== edges);
    expect(different).toEqual([]);
  });

  /** The answer to any bytes in the URL; null when it is not valid HTTP. */
  async function routed(url: string): Promise<Answered | null | undefined> {
    found.clear();
    const head = await send(`GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    return head.startsWith('HTTP/1.1 400') ? null : found.get(undefined);
  }

  it('finds the same also with odd characters in path and query, and passes the URL on as it was', async () => {
    const odd = fc.constantFrom(
      ...Array.from('\\#?%/;:@&=+.|^`{}[]"<>\'*\t\f\u00a0\u0085\u00ff'),
      'a',
      '..',
      '%2e',
      '//h',
    );
    const oddText = fc.array(odd, { maxLength: 4 }).map((parts) => parts.join(''));
    const path = fc.constantFrom(...own.map((route) => route.path.replace(/\{\w+\+?\}/g, 'a')));
    const url = fc
      .tuple(path, oddText, fc.option(oddText, { nil: null }))
      .map(([start, rest, query]) => start + rest + (query === null ? '' : `?${query}`));
    await fc.assert(
      fc.asyncProperty(url, async (each) => {
        const mine = await routed(each);
        if (mine === null) return;
        expect(shown(mine?.match)).toBe(shown(matcher.match('GET', each.split('?', 1)[0] ?? '')));
        expect(mine?.url).toBe(each);
      }),
      { numRuns: 300, examples: [[`${own[0]?.path ?? ''}/a\\b?x=#`], ['/v1/agents/a\\b?x=\u00a0']] },
    );
  });
});

function shown(match: Match | undefined): string {
  if (match?.kind !== 'route') return JSON.stringify(match);
  return `${match.route.id} ${JSON.stringify(match.params)}`;
}
