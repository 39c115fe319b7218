import { readFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from './settings.ts';

const scope = '@gatehouse/';

/** The folders that a process of this service loads code from: its own, and those of the packages it depends on. */
export function sourceFolders(service: string): string[] {
  return [`services/${service}/src`, `services/${service}/migrations`, ...packageFolders(service)].map(
    (folder) => path.join(repositoryRoot, folder),
  );
}

function packageFolders(service: string): string[] {
  const found = new Set<string>();
  const pending = [`services/${service}`];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const next = localDependencies(folder).filter((dependency) => !found.has(dependency));
    for (const dependency of next) found.add(dependency);
    pending.push(...next);
  }
  return Array.from(found, (folder) => (folder === 'proto' ? 'proto/gen' : `${folder}/src`));
}

/** Folders of the workspaces that a workspace's package.json depends on. */
function localDependencies(folder: string): string[] {
  const file = path.join(repositoryRoot, folder, 'package.json');
  const { dependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as {
    dependencies?: Record<string, string>;
  };
  return Object.keys(dependencies)
    .filter((name) => name.startsWith(scope))
    .map((name) => name.slice(scope.length))
    .map((name) => (name === 'proto' ? name : `packages/${name}`));
}
