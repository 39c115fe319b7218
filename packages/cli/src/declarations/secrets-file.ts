import { randomUUID } from 'node:crypto';
import { appendFile, chmod, readFile } from 'node:fs/promises';
import { UsageError } from '../usage-error.ts';

/** The creation of a thing with secrets shown once. */
export interface Creation {
  kind: string;
  name: string;
  /** A repeat with it gets the first answer, with the secrets, for 24 hours. */
  idempotencyKey: string;
  /** The times at which it was sent, in milliseconds since the epoch by the clock of this machine. */
  sentAt: readonly number[];
}

type Line = { kind: string; name: string } &
  // Sent, without an answer yet.
  ({ pending: string; at?: string } | { refused: true } | { id: unknown; secrets: Record<string, unknown> });

/** A file of JSON lines, readable by its owner only. Each creation is written to it before it is sent. */
export class SecretsFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Sent creations still without their secrets. */
  async pending(): Promise<Creation[]> {
    const open = new Map<string, Creation>();
    const text = await readFile(this.#path, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw error;
    });
    for (const [at, line] of text.split('\n').entries()) {
      if (line === '') continue;
      const read = this.#read(line, at + 1);
      const thing = `${read.kind} ${read.name}`;
      if ('pending' in read) {
        const { kind, name, pending: idempotencyKey, at: time } = read;
        const known = open.get(thing);
        const earlier = known?.idempotencyKey === idempotencyKey ? known.sentAt : [];
        const sentAt = time === undefined ? earlier : [...earlier, Date.parse(time)];
        open.set(thing, { kind, name, idempotencyKey, sentAt });
      } else open.delete(thing);
    }
    return [...open.values()];
  }

  #read(line: string, number: number): Line {
    try {
      const read: unknown = JSON.parse(line);
      if (typeof read === 'object' && read !== null && 'kind' in read && 'name' in read) return read as Line;
    } catch {
      // Reported below, without the line: it may hold a secret.
    }
    throw new UsageError(`${this.#path}: line ${number} is not one that apply has written.`);
  }

  /** Notes a creation before it is sent. */
  async begin({ kind, name }: Pick<Creation, 'kind' | 'name'>): Promise<Creation> {
    return this.repeat({ kind, name, idempotencyKey: randomUUID(), sentAt: [] });
  }

  /** Notes a creation before it is sent again: the repeat of a refused one may be the one with an effect. */
  async repeat({ kind, name, idempotencyKey, sentAt }: Creation): Promise<Creation> {
    const now = Date.now();
    await this.#append({ kind, name, pending: idempotencyKey, at: new Date(now).toISOString() });
    return { kind, name, idempotencyKey, sentAt: [...sentAt, now] };
  }

  /** Notes a creation without effect, or with lost secrets. */
  async giveUp({ kind, name }: Creation): Promise<void> {
    await this.#append({ kind, name, refused: true });
  }

  async keep(
    { kind, name }: Creation,
    made: Record<string, unknown>,
    names: readonly string[],
  ): Promise<void> {
    const returned = names.filter((member) => made[member] !== undefined && made[member] !== null);
    const secrets = Object.fromEntries(returned.map((member) => [member, made[member]]));
    await this.#append({ kind, name, id: made['id'], secrets });
  }

  async #append(line: Line): Promise<void> {
    await appendFile(this.#path, `${JSON.stringify(line)}\n`, { mode: 0o600 });
    await chmod(this.#path, 0o600);
  }
}
