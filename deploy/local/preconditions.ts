import { access, chmod, constants, mkdir, stat } from 'node:fs/promises';
import { isPortFree } from './ports.ts';
import { StartError } from './start-error.ts';

/** What must hold before anything is started; each throws one sentence when it does not. */

export async function assertReadable(modelsFile: string): Promise<void> {
  await access(modelsFile, constants.R_OK).catch((error: unknown) => {
    throw new StartError(`The model catalogue ${modelsFile} can not be read; GATEHOUSE_MODELS names it.`, {
      cause: error,
    });
  });
}

export async function makeStateFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o711 });
    // As root, PostgreSQL's own OS user must get to its folder; every file here has its own permissions.
    if (process.getuid?.() === 0) await chmod(folder, (await stat(folder)).mode | 0o011);
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new StartError(
      `The state folder ${folder} can not be used; GATEHOUSE_STATE names it: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** `count` ports from `first` on. */
export async function assertPortsFree(first: number, count: number): Promise<void> {
  for (let port = first; port < first + count; port += 1) {
    if (!(await isPortFree(port))) throw new StartError(`Port ${port} is in use; set PORT to another one.`);
  }
}
