import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { estimateOf } from '../support/estimates.ts';
import { chosenVariable, shares } from '../support/shares.ts';
import { chooseTests } from './choose.ts';

/**
 * Run by `make test-changed`: the tests of what changed since the branch left `BASE` (default: main), in commits and in
 * the working tree. `LIST=1` prints them and runs none.
 */
const root = path.join(import.meta.dirname, '../..');
const { BASE: base = 'main', LIST: list = '' } = process.env;
const jest = ['run', '--silent', 'test', '--'];

const lines = (command: string, args: readonly string[]): string[] =>
  execFileSync(command, args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);

function changedFiles(): string[] {
  const [since = 'HEAD'] = lines('git', ['merge-base', base, 'HEAD']);
  const changed = lines('git', ['diff', '--name-only', '--no-renames', since]);
  return [...changed, ...lines('git', ['ls-files', '--others', '--exclude-standard'])];
}

function related(files: readonly string[]): string[] {
  const present = files.filter((file) => existsSync(path.join(root, file)));
  if (present.length === 0) return [];
  const found = lines('npm', [...jest, '--listTests', '--findRelatedTests', ...present]);
  return found.map((file) => path.relative(root, file)).filter((file) => !file.startsWith('test/together/'));
}

const all = globSync('{packages,services,deploy,lint,test}/**/*.test.ts', {
  cwd: root,
  exclude: ['**/node_modules'],
});
const { files, notes } = chooseTests(changedFiles(), {
  all,
  related,
  workspaceCode: (folder) => globSync(`${folder}src/**/*.ts`, { cwd: root }),
});
for (const note of notes) console.log(`Not covered here: run \`${note}\` as well.`);
const absolute = files.map((file) => path.join(root, file));
const seconds = absolute.reduce((sum, file) => sum + estimateOf(file).seconds, 0);
console.log(`${files.length} test files, by estimates ${(seconds / 4 / 60).toFixed(1)} minutes`);
if (list !== '') console.log(files.join('\n'));
else if (files.length > 0) run();

function run(): void {
  process.env[chosenVariable] = files.join('\n');
  const together = shares();
  const covered = new Set([...together.values()].flat());
  const alone = absolute.filter((file) => !covered.has(file));
  const args = [...jest, '--runTestsByPath', ...together.keys(), ...alone];
  process.exitCode = spawnSync('npm', args, { cwd: root, stdio: 'inherit' }).status ?? 1;
}
