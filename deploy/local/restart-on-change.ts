import { globSync } from 'node:fs';
import path from 'node:path';
import { services } from '@gatehouse/contract/services';
import { LoadedFiles } from './loaded-files.ts';
import type { LogStream } from './log-stream.ts';
import { repositoryRoot } from './settings.ts';
import { SourceWatch, type SourceChange } from './source-watch.ts';
import type { LocalSystem } from './system.ts';

const maxFiles = 3;
const watched = ['services/*/{src,migrations}', 'packages/*/src', 'proto/gen'];

/** `make dev`: restarts the services loading a changed file, after applying new migrations. */
export async function restartOnChange(
  system: Pick<LocalSystem, 'restart' | 'migrate'>,
  log: LogStream,
): Promise<SourceWatch> {
  const loaded = services.map(({ name }) => ({ name, files: new LoadedFiles(name) }));
  return SourceWatch.start({
    folders: globSync(watched, { cwd: repositoryRoot }).map((folder) => path.join(repositoryRoot, folder)),
    servicesOf: (changed) =>
      loaded.filter(({ files }) => files.includeAnyOf(changed)).map(({ name }) => name),
    onChange: async (change) => {
      log.say(`${listed(change.files)} changed: restarting ${change.services.join(', ')}`);
      try {
        if (change.files.some((file) => file.endsWith('.sql'))) await system.migrate();
        await system.restart(change.services);
      } catch (error) {
        log.say((error as Error).message, 'ERROR');
      }
    },
  });
}

function listed(files: SourceChange['files']): string {
  const names = files.slice(0, maxFiles).map((file) => path.relative(repositoryRoot, file));
  const others = files.length - names.length;
  return others === 0 ? names.join(', ') : `${names.join(', ')} and ${others} more`;
}
