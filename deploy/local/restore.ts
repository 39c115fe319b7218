import { execFile } from 'node:child_process';
import { access, mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { lockState } from './lock.ts';
import { postgresUser } from './os-user.ts';
import { makeStateFolder } from './preconditions.ts';
import { loadSettings } from './settings.ts';
import { runLocalCommand, StartError } from './start-error.ts';
import { stateParts } from './state-parts.ts';

/** `make restore FILE=…`: makes a state folder of `make up` from a file of `make backup`. */

const run = promisify(execFile);

await runLocalCommand(async () => {
  const { stateFolder } = loadSettings(process.env);
  const name = process.env['FILE'] ?? '';
  if (name === '') throw new StartError('Name the file of a backup: make restore FILE=gatehouse-….tar.gz');
  const file = path.resolve(name);
  await access(file).catch((error: unknown) => {
    throw new StartError(`The backup ${file} can't be read.`, { cause: error });
  });
  await makeStateFolder(stateFolder);
  const unlock = await lockState(stateFolder);
  const folder = path.join(stateFolder, 'restore.unfinished');
  try {
    // Anything of another state would be mixed with the backup's: unfinished keys, or offsets of Kafka.
    if ((await readdir(stateFolder)).some((entry) => /^(postgres|kafka|.*\.json$)/.test(entry)))
      throw new StartError(`${stateFolder} has data already: set GATEHOUSE_STATE to a new folder.`);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    await unpack(file, folder);
    const present = await readdir(folder);
    for (const part of stateParts.filter((each) => present.includes(each.name)))
      await rename(path.join(folder, part.name), path.join(stateFolder, part.name));
  } finally {
    await rm(folder, { recursive: true, force: true });
    await unlock();
  }
  process.stdout.write(`restored ${stateFolder}: start it with "make up"\n`);
});

async function unpack(file: string, folder: string): Promise<void> {
  const options = ['--extract', '--gzip', '--no-same-owner', `--file=${file}`, `--directory=${folder}`];
  try {
    await run('tar', options);
    for (const { name, isOptional } of stateParts) if (!isOptional) await access(path.join(folder, name));
  } catch (error) {
    throw new StartError(`${file} is not a whole backup of "make backup".`, { cause: error });
  }
  // On another machine the user of PostgreSQL may have another id.
  const { uid, gid } = await postgresUser();
  if (uid === undefined || gid === undefined) return;
  await run('chown', ['--recursive', `${uid}:${gid}`, 'postgres', 'postgres.password'], { cwd: folder });
}
