import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { compare } from './sbom.ts';

interface Manifest {
  name: string;
  dependencies?: Record<string, string>;
}

/** Folders of the workspaces in an image: its own and its dependencies. */
export function workspacesOf(root: string, folder: string, all: readonly string[]): string[] {
  const manifestOf = (workspace: string): Manifest =>
    JSON.parse(readFileSync(path.join(root, workspace, 'package.json'), 'utf8')) as Manifest;
  const folders = new Map(all.map((workspace) => [manifestOf(workspace).name, workspace]));
  const reached = new Set<string>();
  const add = (workspace: string): void => {
    if (reached.has(workspace)) return;
    reached.add(workspace);
    for (const name of Object.keys(manifestOf(workspace).dependencies ?? {})) {
      const dependency = folders.get(name);
      if (dependency !== undefined) add(dependency);
    }
  };
  add(folder);
  return [...reached].sort(compare);
}

/** Whether an image has a file of its workspaces, as the Dockerfile chooses them after compiling. */
function isInImage(file: string): boolean {
  return (
    /\.js$|(^|\/)(package|openapi)\.json$|\/(migrations|console)\//.test(file) ||
    file.startsWith('packages/web/dist/')
  );
}

/** The digest of each file of these workspaces in an image, and of `further` ones, as `sha256sum` prints them. */
export function imageFiles(built: string, workspaces: readonly string[], further: readonly string[]): string {
  const files = workspaces.flatMap((workspace) => filesUnder(built, workspace)).filter(isInImage);
  return [...new Set([...files, ...further])]
    .sort(compare)
    .map((file) => `${hash('sha256', readFileSync(path.join(built, file)))}  ${file}\n`)
    .join('');
}

function filesUnder(root: string, folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    // As .dockerignore has it.
    if (entry.name === 'node_modules' || entry.name === 'test') return [];
    return entry.isDirectory() ? filesUnder(root, name) : [name];
  });
}
