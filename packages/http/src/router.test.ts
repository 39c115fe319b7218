import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
  let server: Server;

  beforeAll(async () => {
    const app = routerOf(own, (_request, response, match) => {
      found = match;
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
});

function shown(match: Match | undefined): string {
  if (match?.kind !== 'route') return JSON.stringify(match);
  return `${match.route.id} ${JSON.stringify(match.params)}`;
}
