import type { Shell } from '@gatehouse/shell/shell';
import { movingHandlers } from '../http/moving.ts';
import { ImportSweep } from '../moving/import-sweep.ts';
import { ExportStore } from '../store/documents/export-store.ts';
import { ImportStore } from '../store/imports/import-store.ts';
import { ImportSystemStore } from '../store/imports/import-system-store.ts';
import type { Ground } from './ground.ts';

/** Exports and imports of documents, and what imports leave. */
export function createImports({ log }: Shell, options: Ground) {
  const { app, jobs, system, splitter, changes, requestJob } = options;
  const { agents, userIds, limits } = options.peers;
  const left = new ImportStore(jobs);
  const unfinished = new ImportSystemStore(system);
  const sweep = new ImportSweep({
    unfinished: (limit) => unfinished.unfinished(limit),
    discard: (ref, how) => left.discard(ref, how),
    finish: (ref, state, signal) => left.finish(ref, state, signal),
    log,
  });
  return {
    rawHandlers: movingHandlers({
      exports: new ExportStore(app),
      imports: new ImportStore(app),
      requestEmbeddings: requestJob('embed'),
      ...{ agents, userIds, limits, sweep, splitter, changes, log },
    }),
    parts: [sweep],
  };
}
