import { Random } from '@gatehouse/test/random';

/** The costs of what chat writes for runs. */
export interface CommitCosts {
  /** CPU time of PostgreSQL for each group, in microseconds: the statement and its commit. */
  group: number;
  /** CPU time for each entry. A run has two, its start and its end. */
  entry: number;
  /** Bytes of an entry in the write-ahead log. */
  bytes: number;
}

/** A PostgreSQL, and the replicas that commit there. */
export interface Machine {
  cores: number;
  /** A flush of the write-ahead log to its disk, in milliseconds, without the bytes. */
  flushMs: number;
  /** Bytes that the disk takes in a millisecond. */
  diskBytes: number;
  replicas: number;
  /** Entries that a replica commits at once. */
  mostInGroup: number;
}

interface Group {
  replica: number;
  /** When its entries came. */
  since: number[];
  /** When it needs only the flush. */
  readyAt: number;
}

/**
 * A simulation of how entries wait for their commit, in milliseconds from 0. A replica commits one group at a time, of what
 * waits then: the group takes the next free core for its CPU time, and then waits for a flush, which all groups that are
 * ready share.
 */
export class CommitModel {
  readonly #costs: CommitCosts;
  readonly #machine: Machine;
  readonly #random = new Random(1);
  readonly #queues: number[][];
  readonly #isBusy: boolean[];
  /** When each core is free. */
  readonly #cores: number[];
  #working: Group[] = [];
  #flushed: Group[] = [];
  #flushEndsAt = Infinity;
  readonly #waits: number[] = [];

  constructor(costs: CommitCosts, machine: Machine) {
    this.#costs = costs;
    this.#machine = machine;
    this.#queues = Array.from({ length: machine.replicas }, () => []);
    this.#isBusy = this.#queues.map(() => false);
    this.#cores = Array.from({ length: machine.cores }, () => 0);
  }

  /** How long each of these entries waits; they come at random times. */
  waits(entries: number, perSecond: number): number[] {
    let nextAt = 0;
    for (let left = entries; left > 0;) {
      const isFlushing = this.#flushEndsAt < Infinity;
      const readyAt = isFlushing ? [] : this.#working.map((group) => group.readyAt);
      const now = Math.min(nextAt, this.#flushEndsAt, ...readyAt);
      if (now === nextAt) {
        const replica = Math.floor(this.#random.next() * this.#queues.length);
        this.#queues[replica]?.push(now);
        this.#begin(replica, now);
        nextAt = now - (Math.log(1 - this.#random.next()) * 1_000) / perSecond;
        left -= 1;
      } else if (now === this.#flushEndsAt) {
        this.#endFlush(now);
      }
      this.#flush(now);
    }
    return this.#waits;
  }

  #begin(replica: number, now: number): void {
    if (this.#isBusy[replica] === true) return;
    const since = this.#queues[replica]?.splice(0, this.#machine.mostInGroup) ?? [];
    if (since.length === 0) return;
    this.#isBusy[replica] = true;
    const freeAt = Math.min(...this.#cores);
    const cpuMs = (this.#costs.group + since.length * this.#costs.entry) / 1_000;
    const readyAt = Math.max(now, freeAt) + cpuMs;
    this.#cores[this.#cores.indexOf(freeAt)] = readyAt;
    this.#working.push({ replica, since, readyAt });
  }

  #flush(now: number): void {
    if (this.#flushEndsAt < Infinity) return;
    this.#flushed = this.#working.filter(({ readyAt }) => readyAt <= now);
    if (this.#flushed.length === 0) return;
    this.#working = this.#working.filter(({ readyAt }) => readyAt > now);
    const entries = this.#flushed.reduce((sum, { since }) => sum + since.length, 0);
    const { flushMs, diskBytes } = this.#machine;
    this.#flushEndsAt = now + flushMs + (entries * this.#costs.bytes) / diskBytes;
  }

  #endFlush(now: number): void {
    this.#flushEndsAt = Infinity;
    for (const { replica, since } of this.#flushed.splice(0)) {
      for (const at of since) this.#waits.push(now - at);
      this.#isBusy[replica] = false;
      this.#begin(replica, now);
    }
  }
}
