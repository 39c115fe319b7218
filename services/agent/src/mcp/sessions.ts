import { monotonicMs, unlessAborted } from '@gatehouse/kit/clock';
import type { McpConnection } from './connection.ts';
import { minuteMs } from '@gatehouse/kit/bounds';
import { noticeMs } from '../bounds.ts';

interface HeldSession {
  tenantId: string;
  connection: Promise<McpConnection>;
  /** The same, once there is one. */
  live: McpConnection | null;
  uses: number;
  idleSince: number;
  /** Whether it is closed after its last use. */
  discarded: boolean;
}

/** The key of a connection. */
export interface SessionKey {
  tenantId: string;
  /** The id of the server's settings and secrets; see `McpServer`. */
  connectionId: string;
  /** The login it uses; null if all users of the tenant may use the connection. */
  loginId: string | null;
}

const textOf = ({ connectionId, loginId }: SessionKey): string => `${connectionId}/${loginId ?? ''}`;

const maxHeld = { all: 256, ofTenant: 32 };

/**
 * Connections kept for the next call, since a connection costs up to three requests. Only a saving: any replica can
 * begin another one. Beyond the limits the one idle for the longest time is closed.
 */
export class McpSessions {
  readonly #held = new Map<string, HeldSession>();
  #sweep: NodeJS.Timeout | undefined;

  start(): void {
    this.#sweep = setInterval(() => this.#closeIdle(minuteMs), noticeMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all([...this.#held.keys()].map((key) => this.#close(key)));
  }

  /**
   * The held connection, or a new one, until `release` is called. Throws the errors of `connect`, and the reason of
   * `signal`.
   */
  async take(
    key: SessionKey,
    signal: AbortSignal,
    connect: () => Promise<McpConnection>,
  ): Promise<{ connection: McpConnection; isNew: boolean; release: () => void }> {
    const { held, isNew } = this.#hold(key, connect);
    held.uses += 1;
    const release = (): void => {
      held.uses -= 1;
      held.idleSince = monotonicMs();
      if (held.discarded && held.uses === 0) void held.live?.close();
    };
    try {
      return { connection: await unlessAborted(signal, held.connection), isNew, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Forgets the connection: the next use begins another. Calls using it end first. */
  discard(session: SessionKey): void {
    const key = textOf(session);
    const held = this.#held.get(key);
    if (held === undefined) return;
    this.#held.delete(key);
    held.discarded = true;
    if (held.uses === 0) void held.live?.close();
  }

  /** Closes the unused connections of a server, and the others after their last use. */
  endAll(connectionId: string): void {
    for (const [key, held] of this.#held) {
      if (!key.startsWith(`${connectionId}/`)) continue;
      this.#held.delete(key);
      held.discarded = true;
      if (held.uses === 0) void held.live?.close();
    }
  }

  #hold(session: SessionKey, connect: () => Promise<McpConnection>): { held: HeldSession; isNew: boolean } {
    const [{ tenantId }, key] = [session, textOf(session)];
    const known = this.#held.get(key);
    if (known !== undefined && known.live?.isClosed !== true) return { held: known, isNew: false };
    this.#makeRoom(tenantId);
    const connection = connect();
    const held: HeldSession = {
      ...{ tenantId, connection, live: null, uses: 0, idleSince: monotonicMs(), discarded: false },
    };
    this.#held.set(key, held);
    connection.then(
      (live) => {
        held.live = live;
      },
      () => {
        if (this.#held.get(key) === held) this.#held.delete(key);
      },
    );
    return { held, isNew: true };
  }

  #makeRoom(tenantId: string): void {
    const idle = [...this.#held].filter(([, { uses }]) => uses === 0);
    const tenantSessions = [...this.#held.values()].filter((held) => held.tenantId === tenantId).length;
    const [victims, over] =
      tenantSessions >= maxHeld.ofTenant
        ? [idle.filter(([, held]) => held.tenantId === tenantId), true]
        : [idle, this.#held.size >= maxHeld.all];
    const [oldest] = victims.toSorted(([, a], [, b]) => a.idleSince - b.idleSince);
    if (over && oldest !== undefined) void this.#close(oldest[0]);
  }

  #closeIdle(longerThanMs: number): void {
    const before = monotonicMs() - longerThanMs;
    for (const [key, { uses, idleSince }] of this.#held)
      if (uses === 0 && idleSince <= before) void this.#close(key);
  }

  async #close(key: string): Promise<void> {
    const held = this.#held.get(key);
    this.#held.delete(key);
    const connection = await held?.connection.catch(() => undefined);
    await connection?.close();
  }
}
