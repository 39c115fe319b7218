import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { operationsOf, type OpenApiDocument } from '../packages/cli/src/operations.ts';
import { routes } from '@gatehouse/contract/routes';
import { upstreamApis } from '@gatehouse/dialects/upstream-api';
import { sharedEnvironment } from '../deploy/local/environment.ts';
import { providerSettings } from '../services/webhook/src/channels/adapters.ts';

/** The files that CONTRIBUTING lists for a change, and the lists of names that nothing else compares. */

const root = path.join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** A path of the page as an expression: `<name>`, `*` and `NNNN` stand for one name each. */
function pathExpression(text: string): RegExp {
  const escaped = text.replace(/[.+]/g, String.raw`\$&`);
  const names = escaped
    .replace(/<[^>]+>/g, '[^/]+')
    .replaceAll('*', '[^/]*')
    .replaceAll('NNNN', String.raw`\d{4}`);
  return new RegExp(`(?:^|/)${names.replace(/\/$/, '')}(?:/|$)`);
}

it('the files to touch for a change exist', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .trim()
    .split('\n');
  const page = read('CONTRIBUTING.md');
  const table = page.slice(page.indexOf('| To add or change |'), page.indexOf('\nExample:'));
  const named = Array.from(table.matchAll(/`([\w.<>*][\w.<>*/-]*)`/g), ([, name = '']) => name).filter(
    (name) => /\/|\.(?:[jt]sx?|cjs|sql|json|md|yaml|proto)$/.test(name),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !files.some((file) => pathExpression(name).test(file)))).toEqual([]);
});

it('lint knows the names of all APIs', () => {
  const [, names = ''] = /'dialect-name': \{[^}]*?\^\(([a-z|]+)\)\$/.exec(read('lint/house-rules.js')) ?? [];
  expect(['chat', ...names.split('|')].sort()).toEqual([...upstreamApis].sort());
});

it('routes in the formats of providers have no generated command', () => {
  const document = JSON.parse(read('packages/contract/openapi.json')) as OpenApiDocument;
  const commands = new Set(operationsOf(document).map(({ id }) => id));
  const passing = routes.filter(({ passThrough }) => passThrough).map(({ id }) => id);
  expect(passing.length).toBeGreaterThan(10);
  expect(passing.filter((id) => commands.has(id))).toEqual([]);
});

it('make up passes on the URLs of all providers of channels', () => {
  const caller = Object.fromEntries(
    Object.keys(providerSettings).map((name) => [name, 'http://127.0.0.1:9']),
  );
  expect(sharedEnvironment(caller)).toEqual(caller);
});
