import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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

describe.each(innerServices)('the router of %s', (service) => {
  const own = routes.filter((route) => route.service === service);
  const matcher = new RouteMatcher(own);
  let found: Match | undefined;
  let foundUrl: string | undefined;
  let server: Server;

  beforeAll(async () => {
    const app = routerOf(own, (request, response, match) => {
      found = match;
      foundUrl = request.url;
      response.end();
      return Promise.resolve();
    });
    server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => void server.close());

  async function routed(method: string, path: string): Promise<Match | undefined> {
    found = undefined;
    const { port } = server.address() as AddressInfo;
    const request = httpRequest({ port, host: '127.0.0.1', method, path });
    request.end();
    const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream];
    response.resume();
    await once(response, 'end');
    return found;
  }

  it('finds the route, its parameters and its methods as the edge does', async () => {
    const paths = [...new Set(own.flatMap(({ path }) => pathsOf(path)))];
    expect(paths.length).toBeGreaterThan(10);
    const different: unknown[] = [];
    for (const path of paths) {
      for (const method of methods) {
        const [mine, edges] = [shown(await routed(method, path)), shown(matcher.match(method, path))];
        if (mine !== edges) different.push({ method, path, mine, edges });
      }
    }
    expect(different).toEqual([]);
  });

  /** As `routed`, with any bytes in the URL; null when it is not valid HTTP. */
  async function routedRaw(url: string): Promise<Match | null | undefined> {
    found = undefined;
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const request = `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    const head = await text(socket.end(Buffer.from(request, 'latin1')));
    return head.startsWith('HTTP/1.1 400') ? null : found;
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
        const mine = await routedRaw(each);
        if (mine === null) return;
        expect(shown(mine)).toBe(shown(matcher.match('GET', each.split('?', 1)[0] ?? '')));
        expect(foundUrl).toBe(each);
      }),
      { numRuns: 300, examples: [[`${own[0]?.path ?? ''}/a\\b?x=#`], ['/v1/agents/a\\b?x=\u00a0']] },
    );
  });
});

function shown(match: Match | undefined): string {
  if (match?.kind !== 'route') return JSON.stringify(match);
  return `${match.route.id} ${JSON.stringify(match.params)}`;
}
