import { posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { RouteMatcher } from '@gatehouse/contract/match';
import { relayId } from '@gatehouse/contract/console';
import { isClosedToRelay } from '@gatehouse/contract/operator-surface';
import { routes } from '@gatehouse/contract/routes';
import { AppError } from '@gatehouse/kit/errors';
import fc from 'fast-check';
import { oddPath } from '../../test/odd-path.ts';
import { checkRelayPath } from './relay-path.ts';

function verdict(method: string, path: string): string {
  try {
    checkRelayPath(method, path);
    return 'open';
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

const nineTimes = `/%${'25'.repeat(8)}69nternal`;

describe('a path inside the relay', () => {
  it.each([
    '/v1/agents',
    '/v1/models/agent%3Ademo',
    '/v1/models/agent:demo',
    '/v1/models/vendor%2Flarge',
    '/v1/models/vendor/large',
    '/v1/agents/gr%C3%B6%C3%9Fe',
    '/v1/models/100%25',
    '/v1/models/a%20b%3Fc%23d',
    '/v1/models/...',
    '/v1/models/.hidden/v..2',
    '/v1/agents/%20/x',
    '/v1/models/%00',
    '/v1/agents/',
    '/v1/Agents',
    '/v1/agents/%EF%BC%A1gent',
    '/v1/internal/x',
    '/internals',
    '/v1/mcp/servers-of-mine',
    '/health',
    '/',
    '/nothing',
  ])('that can be read in one way is let through: %s', (path) => {
    expect(verdict('GET', path)).toBe('open');
    expect(verdict('POST', path)).toBe('open');
  });

  it.each([
    '/internal',
    '/internal/',
    '/internal/v1/owner/tenants',
    '/INTERNAL/v1/owner/tenants',
    '/%69nternal/v1',
    '/%2569nternal/v1',
    '/%252569nternal/v1',
    nineTimes.replace('2525', ''),
    '/%49NTERNAL',
    '/internal%2Fv1',
    '/v1/../internal/v1',
    '/v1/%2e%2e/internal/v1',
    '/v1/%252e%252e/internal/v1',
    '/v1%2f..%2finternal',
    '/v1%5C..%5Cinternal',
    '/v1\\..\\internal',
    '/..\\internal',
    '/./internal',
    '//internal/v1',
    '/%2finternal',
    '/;/internal',
    '/v1;a=b/..;c/internal;d/v1',
    '/internal;jsessionid=1',
    '/internal%3Bx',
    '/internal/../v1/agents',
    '/internal/%ff',
    '/%69nternal/%zz',
    '/internal?x',
    '/internal%3Fx',
    '/v1/..%2Finternal%23x',
    '/v1/agents%3F/../../internal',
    '/internal%00/v1',
    '/int%0Aernal/v1',
    '/internal%20',
    // Fullwidth, mathematical and circled letters, and a fullwidth percent sign, solidus and full stop.
    '/%EF%BD%89nternal',
    '/%F0%9D%90%88nternal',
    '/%E2%93%98nternal',
    '/%EF%BC%8569nternal',
    '/v1%EF%BC%8F..%EF%BC%8Finternal',
    '/v1/%EF%BC%8E%EF%BC%8E/internal',
  ])('is refused if any reading of it lies under /internal: %s', (path) => {
    expect(verdict('GET', path)).toBe('relay_forbidden');
    expect(verdict('POST', path)).toBe('relay_forbidden');
  });

  it.each([
    '/v1/mcp/servers',
    '/v1/mcp/servers/',
    '/v1/mcp/servers/a/refresh',
    '/V1/mcp/%53ervers',
    '/v1/mcp%2Fservers',
    '/v1//mcp/servers',
    '/v1/agents/../mcp/servers',
    '/v1/mcp/servers/../../agents',
    '/v1/mcp/servers;x',
  ])('is refused if it may register MCP servers: %s', (path) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PURGE']) {
      expect(verdict(method, path)).toBe('relay_forbidden');
    }
    expect(verdict('GET', path)).not.toBe('relay_forbidden');
  });

  it('may look at MCP servers, and not at transfers', () => {
    expect(verdict('GET', '/v1/mcp/servers/a')).toBe('open');
    for (const method of ['GET', 'POST', 'HEAD', 'DELETE']) {
      expect(verdict(method, '/v1/tenant/resource-transfers')).toBe('relay_forbidden');
      expect(verdict(method, '/v1/tenant/resource-transfers/previews')).toBe('relay_forbidden');
      expect(verdict(method, '/v1/tenant/Resource%2Dtransfers/x')).toBe('relay_forbidden');
      expect(verdict(method, '/v1/tenant')).toBe('open');
    }
  });

  it.each([
    '/v1/./agents',
    '/v1/x/../agents',
    '/v1/x/%2e%2e/agents',
    '/v1/agents/.',
    '/v1/agents/..',
    '/v1//agents',
    '//v1/agents',
    '/v1/models/vendor%2F%2Flarge',
    '/v1/agents//',
    '/v1\\agents',
    '/v1%5Cagents',
    '/v1/agents;x=1',
    '/v1/agents/a%3Bb',
    '/v1/models/50%2520off',
    '/v1/%2561gents',
    '/http://host/v1/agents',
    '/v1/agents/%',
    '/v1/agents/%zz',
    '/v1/agents/%ff',
    '/v1/agents/%c0%ae',
    `/v1/%${'25'.repeat(30)}61gents`,
    nineTimes,
  ])('that can be read in two ways, or in none, is refused: %s', (path) => {
    expect(verdict('GET', path)).toBe('relay_path_ambiguous');
  });
});

const matcher = new RouteMatcher();
const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS');

/** Readings of a path by one server or another: with the platform's own tools, none of the relay's. */
function platformReadings(path: string): string[] {
  const found = [path];
  for (let last = path, round = 0; round < 12; round += 1) {
    try {
      last = decodeURIComponent(last);
    } catch {
      break;
    }
    found.push(last);
  }
  const folded = found.flatMap((text) => [text, text.normalize('NFKC'), text.replaceAll('\\', '/')]);
  const resolved = folded.flatMap((text) => [text, posix.normalize(text), pathnameOf(text)]);
  return resolved.map((text) => text.toLowerCase());
}

function pathnameOf(text: string): string {
  const url = `http://gateway${text}`;
  return URL.canParse(url) ? new URL(url).pathname : text;
}

/** Thousands of paths on a busy machine. */
const patienceMs = 120_000;

describe('of thousands of odd paths', () => {
  it(
    'none that is let through leads under /internal or to the operator surface, read by whatever means',
    () => {
      let passed = 0;
      fc.assert(
        fc.property(methods, oddPath, (method, path) => {
          if (verdict(method, path) !== 'open') return;
          passed += 1;
          const match = matcher.match(method, path);
          if (match.kind === 'route')
            expect(isClosedToRelay(match.route.method, match.route.path)).toBe(false);
          const closed = platformReadings(path).filter((reading) => isClosedToRelay(method, reading));
          expect(closed).toEqual([]);
        }),
        { numRuns: 10_000 },
      );
      // The property would hold of a relay that lets nothing through.
      expect(passed).toBeGreaterThan(500);
    },
    patienceMs,
  );

  it(
    'each that the platform’s tools read as owner’s is forbidden, not just refused',
    () => {
      fc.assert(
        fc.property(methods, oddPath, (method, path) => {
          const first = [path, posix.normalize(path)].some((reading) => isClosedToRelay(method, reading));
          if (first) expect(verdict(method, path)).toBe('relay_forbidden');
        }),
        { numRuns: 3_000 },
      );
    },
    patienceMs,
  );
});

describe('every canonical path', () => {
  const open = routes.filter(({ id, method, path }) => id !== relayId && !isClosedToRelay(method, path));
  /** Text of an id: nothing that a path could be read by in two ways. */
  const id = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((text) => !/[;\\/%]|^\.{1,2}$/.test(text.normalize('NFKC')));

  it(
    'of the other routes is let through and leads to its route',
    () => {
      fc.assert(
        fc.property(fc.constantFrom(...open), fc.array(id, { minLength: 4, maxLength: 4 }), (route, ids) => {
          const values = ids.map((text) => encodeURIComponent(text));
          const path = route.path
            .replaceAll(/\{\w+\}/g, () => values.pop() ?? 'x')
            .replaceAll(/\{\w+\+\}/g, () => values.splice(0).join('/'));
          expect(verdict(route.method, path)).toBe('open');
          expect(matcher.match(route.method, path)).toMatchObject({
            kind: 'route',
            route: { path: route.path },
          });
        }),
        { numRuns: 10_000 },
      );
    },
    patienceMs,
  );

  it('of the closed routes is forbidden', () => {
    for (const route of routes.filter(({ method, path }) => isClosedToRelay(method, path))) {
      expect(verdict(route.method, route.path.replaceAll(/\{\w+\+?\}/g, 'x'))).toBe('relay_forbidden');
    }
  });
});
