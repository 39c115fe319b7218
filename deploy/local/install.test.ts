import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { repositoryRoot } from './settings.ts';

const run = promisify(execFile);

/** Stands for npm: it installs what its options ask for, and writes its record last. */
const npm = `#!/usr/bin/env node
const { appendFileSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs');
// Without an option, npm leaves packages of tests out where NODE_ENV says so.
const all = process.argv.includes('--include=dev');
const [, , command] = process.argv;
appendFileSync('npm.log', (command === 'ci' ? '' : command + ' ') + (all ? 'all ' : 'running '));
mkdirSync('node_modules/.bin', { recursive: true });
writeFileSync('node_modules/.bin/node', '');
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const here = ([, { dev, cpu }]) => (all || !dev) && (!cpu || cpu.includes(process.arch));
const record = Object.fromEntries(Object.entries(packages).filter(here));
writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: record }));
`;

interface Entry {
  integrity?: string;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
}

describe('an installation', () => {
  const platform = { optional: true, os: [process.platform] };
  const packages: Record<string, Entry> = {
    'node_modules/@gatehouse/kit': { link: true },
    'node_modules/pg': { integrity: 'p1' },
    'node_modules/jest': { integrity: 'j1', dev: true },
    'node_modules/node': { integrity: 'n1', cpu: [process.arch], ...platform },
    'node_modules/node-elsewhere': { integrity: 'n1', cpu: ['none'], ...platform },
  };
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-install-'));
    await mkdir(path.join(folder, 'deploy/local'), { recursive: true });
    await mkdir(path.join(folder, 'bin'));
    await writeFile(path.join(folder, 'package.json'), '{"type": "commonjs"}');
    await writeFile(path.join(folder, 'deploy/local/package.json'), '{"type": "module"}');
    await copyFile(
      path.join(import.meta.dirname, 'install.js'),
      path.join(folder, 'deploy/local/install.js'),
    );
    await writeFile(path.join(folder, 'bin/npm'), npm, { mode: 0o755 });
    await lock(packages);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  function lock(entries: Record<string, Entry>): Promise<void> {
    return writeFile(path.join(folder, 'package-lock.json'), JSON.stringify({ packages: entries }));
  }

  /** Asks for packages, one after another, and returns what npm installed. */
  async function install(...names: ('all' | 'running')[]): Promise<string> {
    const log = path.join(folder, 'npm.log');
    await writeFile(log, '');
    const env = { PATH: `${path.join(folder, 'bin')}:${process.env['PATH'] ?? ''}` };
    for (const name of names) {
      const { stdout } = await run('node', ['deploy/local/install.js', name], { cwd: folder, env });
      expect(stdout).toBe('');
    }
    return (await readFile(log, 'utf8')).trim();
  }

  it('for running is completed by a target that needs all, once', async () => {
    expect(await install('running', 'running')).toBe('running');
    expect(await install('all', 'all')).toBe('install all');
  });

  it('replaces no package that a running system uses', async () => {
    await install('running');
    const up = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)', 'deploy/local/up.ts'], {
      cwd: folder,
    });
    try {
      await once(up, 'spawn');
      expect(await install('all')).toBe('install all');
      await lock({ ...packages, 'node_modules/pg': { integrity: 'p2' } });
      for (const name of ['all', 'running'] as const)
        await expect(install(name)).rejects.toThrow(`process ${up.pid} runs from them: stop it first.`);
    } finally {
      const ended = once(up, 'exit');
      up.kill();
      await ended;
    }
    expect(await install('all')).toBe('all');
  });

  it('replaces no package that another process runs from', async () => {
    await install('running');
    const program = path.join(folder, 'node_modules/sleep');
    await copyFile('/bin/sleep', program);
    await chmod(program, 0o755);
    await lock({ ...packages, 'node_modules/pg': { integrity: 'p2' } });
    const unit = spawn(program, ['600'], { cwd: '/' });
    try {
      await once(unit, 'spawn');
      await expect(install('all')).rejects.toThrow(`process ${unit.pid} runs from them: stop it first.`);
    } finally {
      const ended = once(unit, 'exit');
      unit.kill();
      await ended;
    }
  });

  it('of all packages never becomes smaller', async () => {
    expect(await install('all', 'running')).toBe('all');
    await lock({ ...packages, 'node_modules/pg': { integrity: 'p2' } });
    expect(await install('running', 'all')).toBe('all');
  });

  it('is repeated where the one before was killed as npm wrote its record', async () => {
    await install('running');
    await writeFile(path.join(folder, 'node_modules/.package-lock.json'), '{"packages": {"node_mod');
    expect(await install('running', 'running')).toBe('running');
  });

  it.each<[string, Record<string, Entry>, string]>([
    ['a package changes', { ...packages, 'node_modules/pg': { integrity: 'p2' } }, 'running'],
    ['one comes', { ...packages, 'node_modules/zod': { integrity: 'z1' } }, 'running'],
    ['one goes', { 'node_modules/node': packages['node_modules/node'] ?? {} }, 'running'],
    [
      'one for this platform changes',
      { ...packages, 'node_modules/node': { integrity: 'n2', cpu: [process.arch], ...platform } },
      'running',
    ],
    [
      'only packages of tests and of other platforms do',
      {
        ...packages,
        'node_modules/jest': { integrity: 'j2', dev: true },
        'node_modules/node-elsewhere': { integrity: 'n2', cpu: ['none'], ...platform },
      },
      '',
    ],
  ])('for running, where %s', async (_name, entries, repeated) => {
    await install('running');
    await lock(entries);
    expect(await install('running')).toBe(repeated);
  });
});

type Dependencies = Partial<
  Record<'dependencies' | 'optionalDependencies' | 'peerDependencies', Record<string, string>>
>;

describe('the packages for running', () => {
  const lock = JSON.parse(readFileSync(path.join(repositoryRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; link?: boolean } & Dependencies>;
  };
  const files = [
    'deploy/local/*.ts',
    'packages/web/build.ts',
    'packages/web/src/**/*.{ts,tsx}',
    'test/support/provider-simulator/**/*.ts',
  ];

  it.each(files)('have the imports of %s', (pattern) => {
    const names = globSync(pattern, { cwd: repositoryRoot })
      .filter((file) => !/\.test\.tsx?$/.test(file))
      .flatMap((file) => importsOf(readFileSync(path.join(repositoryRoot, file), 'utf8')));
    const missing = names.filter((name) => lock.packages[`node_modules/${name}`]?.dev !== undefined);
    expect([...new Set(missing)]).toEqual([]);
  });

  it('are each a dependency of another: one with a wrong mark would be installed at every start', () => {
    const running = Object.entries(lock.packages).filter(
      ([, { dev, link }]) => dev !== true && link !== true,
    );
    const needed = running.flatMap(([, entry]) =>
      Object.keys({ ...entry.dependencies, ...entry.optionalDependencies, ...entry.peerDependencies }),
    );
    const names = running.flatMap(([key]) => key.split('node_modules/').slice(1).at(-1) ?? []);
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name) => !needed.includes(name))).toEqual([]);
  });

  it('lack those of tests and linters', () => {
    for (const name of ['jest', 'typescript', 'oxlint', 'openai', '@langchain/core', 'kubernetes-models'])
      expect(lock.packages[`node_modules/${name}`]).toMatchObject({ dev: true });
  });
});

/** The packages that a file imports, without workspaces and without modules of Node. */
function importsOf(text: string): string[] {
  const imports = text.matchAll(/^(?:import|\} from|export)\b.*?'((?:@[\w-]+\/)?[\w-]+)[^']*';$/gm);
  return [...imports]
    .filter(([line]) => !line.startsWith('import type'))
    .map(([, name = '']) => name)
    .filter((name) => name !== 'node' && !name.startsWith('@gatehouse/'));
}
