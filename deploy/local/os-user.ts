import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { StartError } from './start-error.ts';

const run = promisify(execFile);

/** The OS user of a process; without `uid` the current user. */
export interface OsUser {
  name: string;
  uid?: number;
  gid?: number;
}

const reusableName = 'postgres';
const userName = 'gatehouse-postgres';

/** The OS user for PostgreSQL, which does not run as root: the current user or, for root, an unprivileged user. */
export async function postgresUser(): Promise<OsUser> {
  if (process.getuid?.() !== 0) return { name: process.env['USER'] ?? 'the current user' };
  const known = (await lookUp(reusableName)) ?? (await lookUp(userName));
  if (known !== undefined) return known;
  let reason: unknown;
  await run('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', userName]).catch(
    (error: unknown) => {
      reason = error;
    },
  );
  // Looks again even after a failure, because another process may have created the user at the same moment.
  const made = await lookUp(userName);
  if (made !== undefined) return made;
  throw new StartError(
    `PostgreSQL does not run as root, and creating the OS user ${userName} failed: ` +
      `create it (useradd --system ${userName}) or run as another user.`,
    { cause: reason },
  );
}

async function lookUp(name: string): Promise<OsUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    return { name, uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/** Throws one sentence when the user may not enter a parent folder of `target`. */
export async function assertReachable(target: string, user: OsUser): Promise<void> {
  if (user.uid === undefined) return;
  const parents: string[] = [];
  for (let folder = path.dirname(target); ; folder = path.dirname(folder)) {
    parents.unshift(folder);
    if (folder === path.dirname(folder)) break;
  }
  for (const folder of parents) {
    const { mode, uid, gid } = await stat(folder);
    const execute = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & execute) === 0) {
      throw new StartError(
        `PostgreSQL runs as the OS user ${user.name}, who may not enter ${folder}, a parent of ${target}: ` +
          `use another folder, or run "chmod o+x ${folder}".`,
      );
    }
  }
}
