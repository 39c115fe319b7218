import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RouteMatcher, type Match } from './match.ts';
import { routes, type Route } from './routes.ts';

function route(id: string, method: Route['method'], path: string): Route {
  return {
    id,
    method,
    path,
    service: 'edge',
    access: { kind: 'public' },
    actingUser: false,
    idempotencyKey: false,
    administrative: false,
    nullInDryRun: [],
    operatorSurface: false,
    passThrough: false,
    bodyLimit: 0,
    response: { status: 200, shape: null },
    summary: id,
  };
}

const matcher = new RouteMatcher([
  route('things.list', 'GET', '/things'),
  route('things.create', 'POST', '/things'),
  route('things.search', 'POST', '/things/search'),
  route('things.get', 'GET', '/things/{id}'),
  route('things.delete', 'DELETE', '/things/{id}'),
  route('parts.get', 'GET', '/things/{id}/parts/{part}'),
  route('search.log', 'GET', '/things/search/log'),
  route('documents.get', 'GET', '/things/{id}/documents/{path+}'),
  route('documents.put', 'PUT', '/things/{id}/documents/{path+}'),
  route('models.get', 'GET', '/models/{id+}'),
  route('models.limits', 'GET', '/models/{id}/limits'),
  route('models.call', 'POST', '/models/{id+}:call'),
  route('models.callLong', 'POST', '/models/{id+}:callLong'),
  route('hatch', '*', '/models/hatch/{target*}'),
]);

function outcome(match: Match): string {
  if (match.kind === 'route') return `${match.route.id} ${JSON.stringify(match.params)}`;
  return match.kind === 'method' ? `405 ${match.allow.join(' ')}` : '404';
}

describe('matching a path', () => {
  it.each([
    ['GET', '/things', 'things.list {}'],
    ['POST', '/things', 'things.create {}'],
    ['GET', '/things/a1', 'things.get {"id":"a1"}'],
    // A literal segment takes precedence over a parameter, for every method.
    ['POST', '/things/search', 'things.search {}'],
    ['GET', '/things/search', '405 POST'],
    ['GET', '/things/search/log', 'search.log {}'],
    // If the literal leads to no route, the parameter is tried.
    ['GET', '/things/search/parts/p', 'parts.get {"id":"search","part":"p"}'],
    ['GET', '/things/a/parts/b', 'parts.get {"id":"a","part":"b"}'],
    ['GET', '/things/a/documents/x.md', 'documents.get {"id":"a","path":"x.md"}'],
    ['PUT', '/things/a/documents/x/y/z.md', 'documents.put {"id":"a","path":"x/y/z.md"}'],
    ['GET', '/things/search/documents/x', 'documents.get {"id":"search","path":"x"}'],
    ['GET', '/models/vendor/large', 'models.get {"id":"vendor/large"}'],
    ['GET', '/models/large/limits', 'models.limits {"id":"large"}'],
    ['GET', '/models/vendor/large/limits', 'models.get {"id":"vendor/large/limits"}'],
    ['GET', '/models/hatch', 'models.get {"id":"hatch"}'],
    // A name behind the last colon, which may be encoded, is one of Google's methods.
    ['POST', '/models/a:call', 'models.call {"id":"a"}'],
    ['POST', '/models/vendor/a:1%3AcallLong', 'models.callLong {"id":"vendor/a:1"}'],
    ['POST', '/models/a%2Fb%3acall', 'models.call {"id":"a/b"}'],
    ['POST', '/models/:call', 'models.call {"id":""}'],
    ['GET', '/models/a:call', 'models.get {"id":"a:call"}'],
    ['PUT', '/models/a:call', '405 GET HEAD POST'],
    ['POST', '/models/a:other', '405 GET HEAD'],
    ['POST', '/models/call', '405 GET HEAD'],
    ['POST', '/models/a:call/b', '405 GET HEAD'],
    // Any following path, unchanged, with any method.
    ['PURGE', '/models/hatch/', 'hatch {"target":""}'],
    ['GET', '/models/hatch/../%2e//x%', 'hatch {"target":"../%2e//x%"}'],
    ['GET', '/models', '404'],
    ['GET', '/things/a/documents', '404'],
    ['GET', '/things/a/unknown', '404'],
    ['GET', '/Things', '404'],
    ['GET', '', '404'],
    ['GET', '/', '404'],
    ['GET', 'things', '404'],
    ['GET', '*', '404'],
  ])('%s %s is %s', (method, path, expected) => {
    expect(outcome(matcher.match(method, path))).toBe(expected);
  });

  it.each([
    ['DELETE', '/things', '405 GET HEAD POST'],
    ['POST', '/things/a', '405 DELETE GET HEAD'],
    ['GET', '/things/search', '405 POST'],
    ['DELETE', '/things/a/documents/x', '405 GET HEAD PUT'],
    ['OPTIONS', '/things', '405 GET HEAD POST'],
    ['get', '/things', '405 GET HEAD POST'],
    ['', '/things', '405 GET HEAD POST'],
  ])('%s %s is refused with the methods that the path has: %s', (method, path, expected) => {
    expect(outcome(matcher.match(method, path))).toBe(expected);
  });

  it('takes HEAD for GET, and only where there is a GET', () => {
    expect(outcome(matcher.match('HEAD', '/things/a'))).toBe('things.get {"id":"a"}');
    expect(outcome(matcher.match('HEAD', '/things/search'))).toBe('405 POST');
  });

  it.each([
    '/things/',
    '//things',
    '/things//parts/b',
    '/things/./parts/b',
    '/things/a/../search',
    '/things/%2e%2e/search',
    '/things/.%2E',
    '/things/%2e',
    '/things/a/documents/x/../y',
    '/things/a/documents/x/',
    '/things/a/documents/x//y',
    '/models/vendor%2f..%2fsecret',
    '/models/vendor%2F%2e%2E',
    '/models/..%2fa',
    '/models/..%5Ca',
    '/models/a%5c..',
    '/things/%',
    '/things/%zz',
    '/things/%ff',
    '/things/%c3',
  ])('finds nothing at the ambiguous or broken path %s', (path) => {
    expect(matcher.match('GET', path)).toEqual({ kind: 'none' });
  });

  it('decodes parameters once, and leaves dots that are no dot segments alone', () => {
    const named = (path: string): Match => matcher.match('GET', path);
    expect(outcome(named('/models/vendor%2Flarge'))).toBe('models.get {"id":"vendor/large"}');
    expect(outcome(named('/things/%252e'))).toBe('things.get {"id":"%2e"}');
    expect(outcome(named('/things/gr%C3%B6%C3%9Fe'))).toBe('things.get {"id":"größe"}');
    expect(outcome(named('/things/...'))).toBe('things.get {"id":"..."}');
    expect(outcome(named('/things/.a'))).toBe('things.get {"id":".a"}');
    expect(outcome(named('/models/gpt-4.1/v..2'))).toBe('models.get {"id":"gpt-4.1/v..2"}');
  });

  it('gives back whatever text was encoded into a parameter', () => {
    const text = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((value) => !value.split(/[/\\]/).some((segment) => /^\.{1,2}$/.test(segment)));
    fc.assert(
      fc.property(text, text, (id, part) => {
        const path = `/things/${encodeURIComponent(id)}/parts/${encodeURIComponent(part)}`;
        const match = matcher.match('GET', path);
        expect(match).toMatchObject({ kind: 'route', params: { id, part } });
      }),
    );
  });

  it('never throws and never gives out a dot segment', () => {
    const piece = fc.constantFrom(
      '/',
      '.',
      '..',
      '%2e',
      '%2f',
      '%5c',
      '%',
      'things',
      'models',
      'documents',
      'a',
      '\\',
    );
    const paths = fc.array(piece, { maxLength: 12 }).map((pieces) => `/models/${pieces.join('')}`);
    fc.assert(
      fc.property(paths, (path) => {
        const match = matcher.match('GET', path);
        const values = match.kind === 'route' ? Object.values(match.params) : [];
        for (const segment of values.flatMap((value) => value.split(/[/\\]/))) {
          expect(segment).not.toMatch(/^\.{1,2}$/);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('answers a path of thousands of segments', () => {
    expect(matcher.match('GET', `/models${'/a'.repeat(8_000)}`)).toMatchObject({ kind: 'route' });
    expect(matcher.match('GET', `/things${'/a'.repeat(8_000)}`)).toEqual({ kind: 'none' });
  });
});

describe('the table as matched', () => {
  const all = new RouteMatcher();

  it('reaches every route by its own path', () => {
    for (const entry of routes) {
      const path = entry.path.replaceAll(/\{\w+\}/g, 'x1').replaceAll(/\{\w+[+*]\}/g, 'x1/x2');
      expect(all.match(entry.method, path)).toMatchObject({ kind: 'route', route: { id: entry.id } });
    }
  });
});
