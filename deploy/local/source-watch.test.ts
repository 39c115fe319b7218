import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SourceWatch, type SourceChange } from './source-watch.ts';

const folders = ['chat', 'edge', 'shared', 'unused'];

describe('a watch over sources', () => {
  let folder: string;
  let sources: SourceWatch;
  let changes: SourceChange[];
  /** Resolves when a change arrives. */
  let arrived: PromiseWithResolvers<undefined>;
  /** Resolves when the watch has asked which services load the changed files. */
  let asked: PromiseWithResolvers<undefined>;
  /** The restart of the present change waits for it. */
  let work: Promise<unknown>;

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(path.join(tmpdir(), 'gatehouse-sources-')));
    for (const name of folders) await mkdir(path.join(folder, name));
    await save('chat/old.ts');
    changes = [];
    arrived = Promise.withResolvers();
    asked = Promise.withResolvers();
    work = Promise.resolve();
    sources = await SourceWatch.start({
      folders: [...folders, 'not-there'].map(at),
      // A file of `shared` is loaded by every service, any other one by the service that its folder is named after.
      servicesOf: (files) => {
        asked.resolve(undefined);
        return ['chat', 'edge'].filter((name) =>
          files.some((file) => file.startsWith(at(name)) || file.startsWith(at('shared'))),
        );
      },
      onChange: async (change) => {
        changes.push(change);
        arrived.resolve(undefined);
        await work;
      },
    });
  });

  afterEach(async () => {
    await sources.close();
    await rm(folder, { recursive: true, force: true });
  });

  function at(file: string): string {
    return path.join(folder, file);
  }

  async function save(file: string): Promise<void> {
    await mkdir(path.dirname(at(file)), { recursive: true });
    await writeFile(at(file), `// ${Math.random()}\n`);
  }

  async function nextChange(): Promise<SourceChange | undefined> {
    await arrived.promise;
    arrived = Promise.withResolvers();
    return changes.at(-1);
  }

  it('names the service whose file was saved', async () => {
    await save('chat/old.ts');
    expect(await nextChange()).toEqual({ files: [at('chat/old.ts')], services: ['chat'] });
  });

  it('sees a new file in a new folder', async () => {
    await save('edge/deep/new.ts');
    expect(await nextChange()).toEqual({ files: [at('edge/deep/new.ts')], services: ['edge'] });
  });

  it('sees a folder that is removed and made again, as git checkout does', async () => {
    await save('chat/deep/one.ts');
    await nextChange();
    await rm(at('chat/deep'), { recursive: true });
    expect((await nextChange())?.files).toEqual([at('chat/deep/one.ts')]);
    for (const file of ['chat/deep/one.ts', 'chat/deep/two.ts']) {
      await save(file);
      expect((await nextChange())?.files).toEqual([at(file)]);
    }
  });

  it('sees a file that an editor replaces, and saves of it after that', async () => {
    for (let round = 0; round < 2; round += 1) {
      await writeFile(at('draft'), `// ${round}`);
      await rename(at('draft'), at('chat/old.ts'));
      expect((await nextChange())?.services).toEqual(['chat']);
    }
  });

  it('names every service that loads a shared file', async () => {
    await save('shared/common.ts');
    expect((await nextChange())?.services).toEqual(['chat', 'edge']);
  });

  it('makes one change of several files', async () => {
    await Promise.all([save('chat/one.ts'), save('edge/two.ts'), save('chat/three.ts')]);
    expect(await nextChange()).toEqual({
      files: [at('chat/one.ts'), at('chat/three.ts'), at('edge/two.ts')],
      services: ['chat', 'edge'],
    });
    expect(changes).toHaveLength(1);
  });

  it('holds what is saved during a restart back until the restart is over', async () => {
    const restart = Promise.withResolvers<undefined>();
    work = restart.promise;
    await save('chat/one.ts');
    await nextChange();
    await save('edge/two.ts');
    await save('edge/three.ts');
    expect(changes).toHaveLength(1);
    restart.resolve(undefined);
    await nextChange();
    const later = changes.slice(1);
    expect(later.flatMap(({ services }) => services)).not.toContain('chat');
    expect(later[0]?.services).toEqual(['edge']);
  });

  it('ignores tests and files that are no code', async () => {
    await save('chat/one.test.ts');
    await save('chat/notes.txt');
    await save('edge/real.ts');
    expect((await nextChange())?.files).toEqual([at('edge/real.ts')]);
  });

  it('ignores a change that no service loads', async () => {
    await save('unused/other.ts');
    await asked.promise;
    await save('edge/real.ts');
    expect((await nextChange())?.files).toEqual([at('edge/real.ts')]);
    expect(changes).toHaveLength(1);
  });
});
