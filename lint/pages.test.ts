import { globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { alertData } from '@gatehouse/contract/alert-types';
import { routes } from '@gatehouse/contract/routes';
import { sendersTo, services, topics, type ServiceEntry } from '@gatehouse/contract/services';

/** Lists in pages name what the code has. */

const root = path.join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const sources = (pattern: string): string[] =>
  globSync(pattern, { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
const all = (text: string, pattern: RegExp): string[] =>
  Array.from(text.matchAll(pattern), ([, first = '']) => first);

/** Rows of tables whose first cell has names in backticks, by these names. */
function rowsOf(page: string): Map<string, string[]> {
  const rows = new Map<string, string[]>();
  for (const line of page.split('\n').filter((text) => /^\| `/.test(text))) {
    const [first = '', ...others] = line.slice(1, -1).split('|');
    for (const name of all(first, /`([^`]+)`/g))
      rows.set(
        name,
        others.map((cell) => cell.trim()),
      );
  }
  return rows;
}

it('the page of settings has every setting, and no other', () => {
  const files = [
    ...['services/*/src/config.ts', 'services/*/src/**/providers/**/*.ts', 'packages/*/src/*settings.ts'],
    'deploy/composed/src/process.ts',
  ];
  const ofServices = files
    .flatMap(sources)
    .flatMap((file) => all(read(file), /(?:^ +|\{ )([A-Z][A-Z0-9_]+):/gm));
  const ofMakeUp = all(read('deploy/local/settings.ts'), /(?:environment, |resolve\()'([A-Z_]+)'/g);
  const addresses = /^[A-Z]+_GRPC$/;
  const known = new Set([
    ...[...ofServices, ...ofMakeUp].filter((name) => !addresses.test(name)),
    ...['<SERVICE>_HTTP', '<SERVICE>_GRPC', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'],
    ...['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL'],
    ...['MIGRATION_DATABASE_URL', 'NO_COLOR'],
  ]);
  const listed = [...rowsOf(read('docs/operators/settings.md')).keys()];
  expect(listed.toSorted()).toEqual([...known].toSorted());
});

it('the page of settings has the defaults of `make up`', () => {
  const code = read('deploy/local/settings.ts');
  const rows = rowsOf(read('docs/operators/settings.md'));
  const fallbacks = Array.from(
    code.matchAll(/(?:environment, |resolve\()'([A-Z_]+)'(?:\) \?\?|,) '([^']+)'/g),
    ([, name = '', value]) => ({ name, value }),
  ).filter(({ name }) => name !== 'GATEHOUSE_MODELS');
  expect(fallbacks.length).toBeGreaterThan(2);
  for (const { name, value } of fallbacks)
    expect([name, rows.get(name)?.[0]]).toEqual([name, `\`${value}\``]);
});

it('the page of settings has the defaults of services', () => {
  const rows = rowsOf(read('docs/operators/settings.md'));
  const numbers = sources('packages/*/src/*settings.ts').flatMap((file) =>
    Array.from(
      read(file).matchAll(/([A-Z_]+): [^\n]*\.default\(([\d_* ]+)\)/g),
      ([, name = '', product = '']) => ({
        name,
        value: product.split('*').reduce((result, factor) => result * Number(factor.replaceAll('_', '')), 1),
      }),
    ),
  );
  expect(numbers.length).toBeGreaterThan(8);
  for (const { name, value } of numbers)
    expect([name, rows.get(name)?.[0]]).toEqual([name, expect.stringContaining(`\`${value}\``)]);
});

it('the page of the structure has every package, with the packages that each one needs', () => {
  const rows = rowsOf(read('docs/structure.md'));
  const listed = [...rows.keys()].filter((name) => /^packages\/[\w-]+$/.test(name));
  expect(listed.toSorted()).toEqual(
    readdirSync(path.join(root, 'packages'))
      .map((name) => `packages/${name}`)
      .toSorted(),
  );
  for (const name of listed) {
    const { dependencies = {} } = JSON.parse(read(`${name}/package.json`)) as {
      dependencies?: Record<string, string>;
    };
    const needed = all(Object.keys(dependencies).join('\n'), /^@gatehouse\/(.*)$/gm);
    const said = rows.get(name)?.[1]?.split(/, | and /) ?? [];
    expect([name, needed.filter((other) => !said.includes(other))]).toEqual([name, []]);
  }
});

it.each(services)('the README and the structure show the service $name', ({ name }) => {
  const section = read('README.md').split('## How it is built')[1] ?? '';
  expect(section).toMatch(new RegExp(`[ (]${name}\\b`));
  expect(read('docs/structure.md')).toContain(` ${name} `);
});

it.each(services)('the page about outages has a row of $name', ({ name }) => {
  const rows = all(read('docs/operators/outages.md'), /^\| ([^|]+) \|/gm);
  expect(rows.filter((row) => new RegExp(`\\b${name}\\b`).test(row))).not.toEqual([]);
});

it('the README of test-outside has every step', () => {
  const steps = globSync('test/outside/[0-9]*.sh', { cwd: root }).map((file) => path.basename(file));
  const listed = all(read('test/outside/README.md'), /`(\d\d-[\w-]+\.sh)`/g);
  expect(listed.toSorted()).toEqual(steps.toSorted());
});

it('pages about events have every type', () => {
  const listed = [
    ...rowsOf(read('docs/tenants/events.md')).keys(),
    ...rowsOf(read('docs/operators/webhooks.md')).keys(),
  ];
  const types = new Set(listed.filter((name) => /^[a-z_]+\.[a-z_]+$/.test(name)));
  expect([...types].toSorted()).toEqual(Object.keys(alertData).toSorted());
});

it('the security policy names the present minor version', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(read('SECURITY.md')).toContain(`That is ${version.split('.').slice(0, 2).join('.')}.`);
});

it('the page about size names every topic', () => {
  const named = all(read('docs/operators/size.md'), /`(gatehouse\.[a-z]+\.v\d)`/g);
  expect(named.toSorted()).toEqual(Object.values(topics).toSorted());
});

describe.each(services.filter(({ grpc }) => grpc))('the README of $name', (service) => {
  const { name } = service;
  it('has every RPC that it serves, with its callers', () => {
    const [, section = ''] = read(`services/${name}/README.md`).split('\n## RPCs\n');
    const said = [...rowsOf(section.split('\n## ')[0] ?? '')].map(([rpc, [callers = '']]) => [
      rpc,
      callers.split(', ').toSorted(),
    ]);
    expect(Object.fromEntries(said)).toEqual(Object.fromEntries(rpcsOf(service)));
  });
});

describe('comments of protocols name the callers of each RPC', () => {
  /** Services that have the call in their sources, by the name of the method. */
  const callers = new Map<string, Set<string>>();
  for (const file of sources('services/*/src/**/*.ts'))
    for (const method of all(read(file), /\.call\(\s*'(\w+)'/g))
      callers.set(method, (callers.get(method) ?? new Set()).add(file.split('/')[1] ?? ''));
  /** RPCs that packages call for services: the outbox, changes, the directory. And those that 0.3.0 alone calls. */
  const ofPackages = new Set(['Take', 'ListChanges', 'ResolveUser', 'ForgetUser', 'AgentDeleted']);
  const comments = globSync('proto/gatehouse/*/v1/*.proto', { cwd: root }).flatMap((file) =>
    Array.from(read(file).matchAll(/((?: +\/\/.*\n)+) +rpc (\w+)\(/g), ([, comment = '', rpc = '']) => ({
      rpc,
      named: all(comment, /\bCallers?: ([a-z, ]+)\./g).flatMap((list) => list.split(', ')),
    })),
  );
  const served = services.filter(({ grpc }) => grpc).flatMap(rpcsOf);

  it.each(comments)('$rpc', ({ rpc, named }) => {
    // The callers of `Take` differ by topic.
    const declared = new Set(served.filter(([name]) => name === rpc).flatMap(([, list]) => list));
    if (rpc !== 'Take' && rpc !== 'GetSystemState')
      expect(named.toSorted()).toEqual([...declared].toSorted());
    if (ofPackages.has(rpc)) return;
    const method = rpc.charAt(0).toLowerCase() + rpc.slice(1);
    expect(named.toSorted()).toEqual([...(callers.get(method) ?? [])].toSorted());
  });
});

describe('READMEs of packages list their imports', () => {
  const packages = globSync('packages/*/README.md', { cwd: root }).filter((file) =>
    read(file).includes('\nImports: '),
  );

  it.each(packages)('%s', (file) => {
    const [list = ''] = all(read(file), /^Imports: (.*?)(?:\.$|\. )/gm);
    const listed = list.replaceAll('`', '').split(/, (?:and )?/);
    const { dependencies } = JSON.parse(read(path.join(path.dirname(file), 'package.json'))) as {
      dependencies: Record<string, string>;
    };
    const needed = Object.keys(dependencies)
      .filter((name) => !name.startsWith('@types/'))
      .map((name) => name.replace('@gatehouse/', ''));
    expect(listed.toSorted()).toEqual(needed.toSorted());
  });
});

const documents = globSync('{*,docs/**/*,{packages,services}/*/*,test/README,deploy/**/*,charts/*/*}.md', {
  cwd: root,
  exclude: ['**/node_modules'],
}).filter((file) => file !== 'CHANGELOG.md');

it('pages name tables, functions and columns that migrations have', () => {
  const migrations = globSync('services/*/migrations/**/*.sql', { cwd: root }).map(read).join('\n');
  const contract = read('packages/contract/openapi.json');
  const schemas = services.map(({ name }) => name).join('|');
  const unknown = documents.flatMap((file) =>
    all(read(file), new RegExp(`\`((?:${schemas})\\.[a-z_]+)`, 'g'))
      // Scopes, events and members of agents have names of the same form.
      .filter((name) => !migrations.includes(name) && !contract.includes(name))
      .filter((name) => !contract.includes(`"${name.split('.')[1] ?? ''}"`))
      .map((name) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

it('pages about the code name identifiers that it has', () => {
  const code = globSync('{tsconfig.json,{packages,services,deploy,lint,test,proto}/**/*.{ts,tsx,js,proto}}', {
    cwd: root,
    exclude: ['**/node_modules', '**/dist'],
  }).map(read);
  const known = new Set(code.flatMap((text) => all(text, /(\w+)/g)));
  const missing = documents
    .filter((file) => !/^(docs\/(tenants|operators)|charts)\//.test(file))
    .flatMap((file) =>
      all(read(file), /`([A-Za-z][a-z]+(?:[A-Z][a-z0-9]+)+)\b/g)
        .filter((name) => !known.has(name))
        .map((name) => `${file}: ${name}`),
    );
  expect(missing).toEqual([]);
});

it('code and pages cite decisions that exist', () => {
  const numbers = new Set(
    globSync('docs/adr/*.md', { cwd: root }).map((file) => Number(path.basename(file).slice(0, 4))),
  );
  const files = globSync('{packages,services,deploy,lint}/**/*.ts', {
    cwd: root,
    exclude: ['**/node_modules'],
  });
  const unknown = [...files, ...documents].flatMap((file) =>
    all(read(file), /\bADR (\d+)\b/g)
      .filter((number) => !numbers.has(Number(number)))
      .map((number) => `${file}: ADR ${number}`),
  );
  expect(unknown).toEqual([]);
});

it('pages name source files that exist', () => {
  const files = globSync('{packages,services,deploy,charts,test,lint,proto,releases}/**/*', {
    cwd: root,
    exclude: ['**/node_modules', '**/dist'],
  }).map((file) => `/${file}`);
  const missing = documents.flatMap((file) =>
    all(read(file), /`((?:[\w.-]+\/)+[\w.-]+\.(?:tsx?|js|sql|proto|sh))`/g)
      .filter((name) => !/NNNN|_what_/.test(name))
      .filter((name) => {
        const here = name.startsWith('src/') && !file.startsWith('docs/') ? `/${path.dirname(file)}` : '';
        return !files.some((known) => known.endsWith(`${here}/${name}`));
      })
      .map((name) => `${file}: ${name}`),
  );
  expect(missing).toEqual([]);
});

it('pages name routes that the contract has', () => {
  const known = routes.map(({ method, path: route }) => ({
    method,
    matches: new RegExp(`^${route.replace(/\{[^}]+\}/g, '[^/]+')}$`),
  }));
  const pages = documents.filter((file) => !file.startsWith('test/'));
  const unknown = pages.flatMap((file) =>
    Array.from(
      read(file).matchAll(/`(GET|POST|PUT|PATCH|DELETE) (\/[^`\s*?]+)[^`]*`/g),
      ([whole, method, route]) =>
        known.some((entry) => entry.method === method && entry.matches.test(route ?? ''))
          ? []
          : [`${file}: ${whole}`],
    ).flat(),
  );
  expect(unknown).toEqual([]);
});

describe.each(services)('the README of $name', ({ name }) => {
  const readme = read(`services/${name}/README.md`);

  it('names its folders, and no other', () => {
    const folders = readdirSync(path.join(root, `services/${name}/src`), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
    expect(new Set(all(readme, /`src\/([\w-]+)\//g))).toEqual(new Set(folders));
  });

  it('lists the tables of its schema, if it lists any', () => {
    const list = all(readme, /^Schema `\w+`:\n\n((?:- .*\n)+)/gm).join('');
    if (list === '') return;
    const migrations = globSync(`services/${name}/migrations/*.sql`, { cwd: root }).map(read).join('\n');
    const dropped = new Set(all(migrations, /^drop (?:table|view)(?: if exists)? \w+\.(\w+)/gm));
    const tables = all(migrations, /^create (?:table|view)(?: if not exists)? \w+\.(\w+)/gm);
    const present = tables.filter((table) => !dropped.has(table));
    expect(all(list, /`([a-z_]+)`/g).toSorted()).toEqual(present.toSorted());
  });
});

/** RPCs of a service with their callers, by the files that declare them. */
function rpcsOf({ name, consumes }: ServiceEntry): [string, string[]][] {
  const composition = read(`services/${name}/src/service.ts`);
  const files = [
    ...sources(`services/${name}/src/**/*.ts`),
    ...(composition.includes('transfers:') ? ['packages/transfers/src/run-step.ts'] : []),
  ];
  const own = files.flatMap((file): [string, string[]][] => {
    const source = read(file);
    const callers = /^ +callers: \[([^\]]*)\]/m.exec(source)?.[1];
    if (callers === undefined) return [];
    const words = path.parse(file).name.replace(/-rpc$/, '').split('-');
    const ofFile = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
    // A feature has the RPC that its type names.
    const rpc = (words[0] === 'create' && / Rpc<(\w+)Request,/.exec(source)?.[1]) || ofFile;
    return [[rpc.replace(/^DescribeTransfer$/, 'Describe'), all(callers, /'(\w+)'/g).toSorted()]];
  });
  return [
    ...own,
    ...(composition.includes('participant(')
      ? [['ForgetUser', ['tenant']] satisfies [string, string[]]]
      : []),
    ...(consumes === undefined ? [] : [['Take', sendersTo(name).toSorted()] satisfies [string, string[]]]),
  ];
}
