import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { takesSession } from '@gatehouse/contract/route';
import { routes } from '@gatehouse/contract/routes';

/** The compiler removes the types, so their text is compared with the route table. */
const text = readFileSync(path.join(import.meta.dirname, 'endpoints.ts'), 'utf8');
const aliases: Record<string, string> = Object.fromEntries(
  Array.from(text.matchAll(/^type (\w+) =([^;]+);/gm), ([, name = '', names = '']) => [name, names]),
);
const endpoints = Array.from(
  text.matchAll(/^ {2}'(\w+) (\/[^']+)':([^]*?)(?=^ {2}'|^\})/gm),
  ([, method = '', route = '', shape = '']) => ({ method, route, shape }),
);

function namesIn(shape: string): string[] {
  const [, query = ''] = /query: Query<([^>]+)>/.exec(shape) ?? [];
  const resolved = query.replace(/\b[A-Z]\w+\b/g, (alias) => aliases[alias] ?? '');
  return Array.from(resolved.matchAll(/'(\w+)'/g), ([, name = '']) => name);
}

describe('the endpoints that pages use', () => {
  it('are all read', () => {
    expect(endpoints.length).toBe(text.match(/^ {2}'[A-Z]+ \//gm)?.length);
    expect(endpoints.length).toBeGreaterThan(30);
    expect(namesIn(endpoints.find(({ route }) => route === '/v1/agents')?.shape ?? '')).toEqual([
      'limit',
      'cursor',
      'status',
      'q',
    ]);
  });

  it.each(endpoints)(
    '$method $route is a route for sessions, with these parameters',
    ({ method, route, shape }) => {
      const found = routes.find((entry) => entry.method === method && entry.path === route);
      expect(found === undefined ? undefined : takesSession(found)).toBe(true);
      expect(Object.keys(found?.query?.shape ?? {})).toEqual(expect.arrayContaining(namesIn(shape)));
      const body = found?.body ?? found?.bodyLines ?? found?.bodyForm;
      expect(/\bbody: /.test(shape)).toBe(body !== undefined);
    },
  );
});
