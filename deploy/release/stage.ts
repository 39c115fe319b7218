import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  existsSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Runs a program and returns what it prints; throws if it fails. */
export function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}

/** Throws if files differ from the commit: a release could not be built again from its commit. */
export function assertCommitted(root: string): void {
  const changed = run('git', ['status', '--porcelain'], root).trim();
  if (changed !== '')
    throw new Error(`A release is made of a commit, and these files differ from it:\n${changed}`);
}

/** The time of the commit in seconds since the epoch, which stands for the time of the build. */
export function commitSeconds(root: string): number {
  return Number(run('git', ['log', '-1', '--format=%ct'], root));
}

/**
 * Copies the commit into a new folder, with the installed packages of the repository. Builds write beside their sources,
 * so they can't run in the repository itself. Returns the folder.
 */
export function stageCommit(root: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'gatehouse-release-'));
  const archive = execFileSync('git', ['archive', 'HEAD', '--', '.', ...withoutTests], {
    cwd: root,
    maxBuffer: 256 * 1024 * 1024,
  });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  const manifests = run('git', ['ls-files', '*package.json'], root).trim().split('\n');
  for (const manifest of manifests) linkPackages(root, folder, path.dirname(manifest));
  return folder;
}

/** As `.dockerignore` has it: types of tests are not installed where images are compiled. */
const withoutTests = [':(exclude,glob)**/*.test.ts', ':(exclude,glob)**/test/**'];

/** Links the installed packages of a workspace. Links to workspaces lead to those of the copy. */
function linkPackages(root: string, folder: string, workspace: string): void {
  const from = path.join(root, workspace, 'node_modules');
  if (!existsSync(from) || !existsSync(path.join(folder, workspace))) return;
  const to = path.join(folder, workspace, 'node_modules');
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (name === '@gatehouse') {
      mkdirSync(path.join(to, name));
      for (const inner of readdirSync(path.join(from, name)))
        link(path.join(from, name, inner), path.join(to, name, inner));
    } else link(path.join(from, name), path.join(to, name));
  }
}

function link(from: string, to: string): void {
  symlinkSync(lstatSync(from).isSymbolicLink() ? readlinkSync(from) : from, to);
}
