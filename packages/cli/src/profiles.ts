import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from './usage-error.ts';

/** The address of a gateway and the key for it. */
export interface Profile {
  url: string;
  key: string;
}

interface ProfilesFile {
  current: string;
  profiles: Record<string, Profile>;
}

const defaultName = 'default';

/** The profiles of a person, in a file that only they can read. */
export class Profiles {
  readonly #file: string;

  /** In `$XDG_CONFIG_HOME/gatehouse`, else in `~/.config/gatehouse`. */
  constructor(environment: Readonly<Record<string, string | undefined>>) {
    const { XDG_CONFIG_HOME: config, HOME: home, USERPROFILE: userProfile } = environment;
    const base =
      config !== undefined && config !== '' ? config : path.join(home ?? userProfile ?? '', '.config');
    this.#file = path.join(base, 'gatehouse', 'profiles.json');
  }

  /** Rejects when there is none of the name; without a name, the one that was used last to log in. */
  async get(name: string | undefined): Promise<Profile> {
    const file = await this.#read();
    const wanted = name ?? file.current;
    const found = file.profiles[wanted];
    if (found !== undefined) return found;
    throw new UsageError(
      `There is no profile "${wanted}". Run: gatehouse login --url https://… --key -${name === undefined ? '' : ` --profile ${name}`}`,
    );
  }

  /** Keeps it and makes it the current one; returns its name. */
  async keep(name: string | undefined, profile: Profile): Promise<string> {
    const file = await this.#read();
    const current = name ?? file.current;
    await this.#write({ current, profiles: { ...file.profiles, [current]: profile } });
    return current;
  }

  /** Returns the name of the one that was removed, or undefined if there was none. */
  async remove(name: string | undefined): Promise<string | undefined> {
    const file = await this.#read();
    const wanted = name ?? file.current;
    if (file.profiles[wanted] === undefined) return undefined;
    const others = Object.entries(file.profiles).filter(([other]) => other !== wanted);
    const current = wanted === file.current ? (others[0]?.[0] ?? defaultName) : file.current;
    await this.#write({ current, profiles: Object.fromEntries(others) });
    return wanted;
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

  /** As a whole or not at all, also when two commands write at once. */
  async #write(file: ProfilesFile): Promise<void> {
    const folder = path.dirname(this.#file);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const written = `${this.#file}.${process.pid}`;
    await writeFile(written, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    await chmod(written, 0o600);
    await rename(written, this.#file);
  }
}

/** Throws for a profile of any source whose key would go in the clear, or into a message. */
export function checkedProfile({ url, key }: Profile): Profile {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new UsageError('The key must be one line of printable characters without spaces, as `gwk_…` is.');
  return { url: addressOf(url), key };
}

/** Keys go over https, except on this machine. */
function addressOf(text: string): string {
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
