import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from './settings.ts';

const scope = '@gatehouse/';
/** Imports and re-exports, with `type` where Node removes them; `import(…)` and `import '…'`. */
const statement = /\b(?:im|ex)port(\s+type)?\b[^'";]*?\bfrom\s+'([^']+)'|\bimport\s*\(?\s*'([^']+)'/g;

/** Files of this repository loaded by a process of the service, migrations included, as absolute paths. */
export class LoadedFiles {
  readonly #service: string;
  #files: Set<string>;

  constructor(service: string) {
    this.#service = service;
    this.#files = this.#read();
  }

  /** Whether the service loads one of the files now, or did when last asked: a deleted file is in the old graph only. */
  includeAnyOf(files: readonly string[]): boolean {
    const before = this.#files;
    this.#files = this.#read();
    const migrations = path.join(this.#folder(), 'migrations') + path.sep;
    return files.some((file) => before.has(file) || this.#files.has(file) || file.startsWith(migrations));
  }

  #folder(): string {
    return path.join(repositoryRoot, 'services', this.#service);
  }

  #read(): Set<string> {
    const files = new Set<string>();
    const pending = [path.join(this.#folder(), 'src/main.ts')];
    for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
      if (files.has(file) || !existsSync(file)) continue;
      files.add(file);
      pending.push(...importsOf(file));
    }
    return files;
  }
}

function importsOf(file: string): string[] {
  return Array.from(readFileSync(file, 'utf8').matchAll(statement)).flatMap(([, type, from, imported]) => {
    const target = from ?? imported ?? '';
    if (type !== undefined) return [];
    if (target.startsWith('.')) return [path.resolve(path.dirname(file), target)];
    return target.startsWith(scope) ? [exportedFile(target.slice(scope.length))] : [];
  });
}

/** As the `exports` of the workspaces have it: `kit/log` is `packages/kit/src/log.ts`. */
function exportedFile(name: string): string {
  const [workspace = '', ...rest] = name.split('/');
  const folder = workspace === 'proto' ? 'proto/gen/gatehouse' : `packages/${workspace}/src`;
  return path.join(repositoryRoot, folder, `${rest.join('/')}.ts`);
}
