import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { profileLock } from './bounds.ts';
import { UsageError } from './usage-error.ts';

/** The address of a gateway and the key for it. */
export interface Profile {
  url: string;
  key: string;
  /** Lifetime of a key confirmed by a person with a code. */
  device?: { from: string; until: string };
}

interface ProfilesFile {
  current: string;
  profiles: Record<string, Profile>;
}

const defaultName = 'default';

/** The profiles of a person, in a file readable by this person only. */
export class Profiles {
  readonly #file: string;

  /** In `$XDG_CONFIG_HOME/gatehouse`, else in `~/.config/gatehouse`. */
  constructor(environment: Readonly<Record<string, string | undefined>>) {
    const { XDG_CONFIG_HOME: config, HOME: home, USERPROFILE: userProfile } = environment;
    const base =
      config !== undefined && config !== '' ? config : path.join(home ?? userProfile ?? '', '.config');
    this.#file = path.join(base, 'gatehouse', 'profiles.json');
  }

  /** All of them by name, and the name of the active one. */
  async list(): Promise<{ current: string; profiles: (Profile & { name: string })[] }> {
    const { current, profiles } = await this.#read();
    const named = Object.entries(profiles).map(([name, profile]) => ({ name, ...profile }));
    return { current, profiles: named.toSorted((a, b) => a.name.localeCompare(b.name)) };
  }

  /** Makes it the active one. Rejects for an unknown name. */
  async use(name: string): Promise<Profile> {
    return this.#alone(async () => {
      const file = await this.#read();
      const profile = profileIn(file, name);
      await this.#write({ ...file, current: name });
      return profile;
    });
  }

  /** Rejects for an unknown name; without a name, returns the active profile. */
  async get(name: string | undefined): Promise<Profile> {
    const file = await this.#read();
    return profileIn(file, name ?? file.current);
  }

  /** Keeps it, and makes the first one active. Returns its name, the active one's, and its URL before. */
  async keep(
    name: string | undefined,
    profile: Profile,
  ): Promise<{ name: string; active: string; urlBefore: string | undefined }> {
    return this.#alone(async () => {
      const { current, profiles } = await this.#read();
      const target = name ?? current;
      const active = profiles[current] === undefined ? target : current;
      await this.#write({ current: active, profiles: { ...profiles, [target]: profile } });
      return { name: target, active, urlBefore: profiles[target]?.url };
    });
  }

  /** Keeps what `change` makes of a profile, unless it is undefined. Meanwhile no other command changes the file. */
  async change(
    name: string | undefined,
    change: (profile: Profile) => Promise<Profile | undefined>,
  ): Promise<Profile> {
    return this.#alone(async () => {
      const before = await this.get(name);
      const after = await change(before);
      if (after === undefined) return before;
      const file = await this.#read();
      await this.#write({ ...file, profiles: { ...file.profiles, [name ?? file.current]: after } });
      return after;
    });
  }

  /** Returns the name of the removed one, or undefined. No other one takes its place as the active one. */
  async remove(name: string | undefined): Promise<string | undefined> {
    return this.#alone(async () => {
      const file = await this.#read();
      const wanted = name ?? file.current;
      if (file.profiles[wanted] === undefined) return undefined;
      const others = Object.entries(file.profiles).filter(([other]) => other !== wanted);
      await this.#write({ current: file.current, profiles: Object.fromEntries(others) });
      return wanted;
    });
  }

  /** Runs `work` while no other command does. A killed command leaves a lock, which is stale after a while. */
  async #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const file = `${this.#file}.lock`;
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    const endsAt = Date.now() + profileLock.longestMs;
    while (!(await made(file))) {
      const age = await stat(file).then(
        ({ mtimeMs }) => Date.now() - mtimeMs,
        () => 0,
      );
      if (age > profileLock.staleMs) await rm(file, { force: true });
      else if (Date.now() > endsAt) throw new UsageError(`Another command holds ${file}. Try again.`);
      else await setTimeout(profileLock.pauseMs);
    }
    try {
      return await work();
    } finally {
      await rm(file, { force: true });
    }
  }

  async #read(): Promise<ProfilesFile> {
    let text: string;
    try {
      const { mode } = await stat(this.#file);
      if (process.platform !== 'win32' && (mode & 0o077) !== 0)
        throw new UsageError(
          `Others may read ${this.#file}, which holds keys. Run: chmod 600 '${this.#file}'`,
        );
      text = await readFile(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: defaultName, profiles: {} };
      throw error;
    }
    try {
      const { current, profiles } = JSON.parse(text) as Partial<ProfilesFile>;
      return { current: current ?? defaultName, profiles: profiles ?? {} };
    } catch {
      throw new UsageError(`${this.#file} is not JSON. Mend it, or remove it and log in again.`);
    }
  }

  /** As a whole or not at all. */
  async #write(file: ProfilesFile): Promise<void> {
    const written = `${this.#file}.${process.pid}`;
    await writeFile(written, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    await chmod(written, 0o600);
    await rename(written, this.#file);
  }
}

/** Throws for a name missing in the file. */
function profileIn({ profiles }: ProfilesFile, name: string): Profile {
  const profile = profiles[name];
  if (profile !== undefined) return profile;
  const others = Object.keys(profiles);
  const choice = others.length === 0 ? '' : ` There are: ${others.join(', ')} (gatehouse profile use NAME).`;
  const option = name === defaultName ? '' : ` --profile ${name}`;
  throw new UsageError(
    `There is no profile "${name}".${choice} Run: gatehouse login --url https://…${option}`,
  );
}

/** Makes a file; false if there is one. */
async function made(file: string): Promise<boolean> {
  try {
    await writeFile(file, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Throws for a profile of any source if its key would go in the clear, or into a message. */
export function checkedProfile({ url, key }: Profile): Profile {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new UsageError('The key must be one line of printable characters without spaces, as `gwk_…` is.');
  return { url: addressOf(url), key };
}

/** The origin of a gateway. Throws for one to which keys would go in the clear: not https, and not this machine. */
export function addressOf(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new UsageError(`${text} is no address. Give one such as https://gatehouse.example.com`);
  }
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isHere))
    throw new UsageError('Use an https address: the key would be sent in the clear.');
  if (url.username !== '' || url.password !== '')
    throw new UsageError('Leave the user and password out of the address.');
  return url.origin;
}
