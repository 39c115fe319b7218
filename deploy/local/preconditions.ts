import { access, chmod, constants, mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { isPortFree } from './ports.ts';
import { repositoryRoot } from './settings.ts';
import { StartError } from './start-error.ts';
import { runStep } from './start-step.ts';

/** Preconditions of a start. Each function throws one sentence, or a list of mistakes, when it is not met. */

const modelsCheck = path.join(repositoryRoot, 'services/chat/src/models-check.ts');

export async function assertReadable(modelsFile: string): Promise<void> {
  await access(modelsFile, constants.R_OK).catch((error: unknown) => {
    throw new StartError(
      `The model catalogue ${modelsFile} can't be read; set GATEHOUSE_MODELS to another file.`,
      {
        cause: error,
      },
    );
  });
}

/** Checks the model catalogue as chat reads it, with these variables. Throws with every mistake in it. */
export async function assertCatalogue(
  modelsFile: string,
  environment: Record<string, string | undefined>,
): Promise<void> {
  await runStep(modelsCheck, [modelsFile], environment);
}

export async function makeStateFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder);
    // When run as root, PostgreSQL runs as another OS user, which must be able to enter its folder. Every file has its
    // own permissions.
    if (process.getuid?.() === 0) await chmod(folder, (await stat(folder)).mode | 0o011);
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new StartError(
      `The state folder ${folder} can't be used; set GATEHOUSE_STATE to another folder: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/**
 * Makes a folder with its parents, one by one: where the system refuses a folder as if its parent were missing, as
 * `/proc` does, Node's own `recursive` never ends.
 */
async function makeFolder(folder: string): Promise<void> {
  if ((await stat(folder).catch(() => undefined))?.isDirectory() === true) return;
  const parent = path.dirname(folder);
  if (parent !== folder) await makeFolder(parent);
  await mkdir(folder, { mode: 0o711 });
}

/** Checks `count` ports, starting with `first`. */
export async function assertPortsFree(first: number, count: number): Promise<void> {
  for (let port = first; port < first + count; port += 1) {
    if (!(await isPortFree(port))) throw new StartError(`Port ${port} is in use; set PORT to another one.`);
  }
}
