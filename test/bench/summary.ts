import type { Contest, Gateway, Process } from './contest.ts';
import { cpuMs, privateMiB } from './processes.ts';
import { figure, print } from './table.ts';

/** The figures of a gateway by which releases are compared; the medians of the rounds. */
export interface Summary {
  /** Requests a second to those of the pass-through. */
  ratio: number;
  /** Latency at 300 requests a second, less the provider's. */
  added: { p50: number; p99: number };
  /** The first token of 128 streams, less the provider's. */
  addedFirst: number;
  /** CPU time of a frame of a stream in µs, of the processes without PostgreSQL. */
  frame: number;
}

export type Summaries = Map<Gateway, Summary>;

export function emptySummaries({ gateways }: Contest): Summaries {
  const empty = { ratio: NaN, added: { p50: NaN, p99: NaN }, addedFirst: NaN, frame: NaN };
  return new Map(gateways.map((gateway) => [gateway, { ...empty }]));
}

const groups: readonly [string, (process: Process) => boolean][] = [
  ['processes', (process) => isServing(process)],
  ['PostgreSQL', ({ name }) => name === 'postgres'],
  ['make up', ({ name }) => name === 'make up'],
];

/** Whether a process serves requests: neither PostgreSQL nor `make up`. */
export function isServing({ name }: Process): boolean {
  return name !== 'postgres' && name !== 'make up';
}

/** CPU time of processes so far, in milliseconds. */
export function cpuOf(processes: readonly Process[]): number {
  return processes.reduce((sum, { pid, isParent }) => sum + cpuMs(pid, isParent), 0);
}

/** Prints the figures of each gateway, with those of its processes by their ids. */
export function printSummaries(
  summaries: Summaries,
  footprints: ReadonlyMap<number, { cpu: number; idlePrivateMiB: number }>,
): void {
  const all = [...summaries];
  const row = (name: string, value: (summary: Summary, gateway: Gateway) => string): string[] => [
    name,
    ...all.map(([gateway, summary]) => value(summary, gateway)),
  ];
  const sumOf = (
    { processes }: Gateway,
    isIn: (process: Process) => boolean,
    value: (process: Process) => number,
  ): string => figure(processes.filter(isIn).reduce((sum, process) => sum + value(process), 0));
  const rows = (title: string, value: (process: Process) => number): string[][] =>
    groups.map(([name, isIn], index) =>
      row(`${index === 0 ? `${title}: ` : '  '}${name}`, (_summary, gateway) => sumOf(gateway, isIn, value)),
    );
  print([
    ['in short', ...all.map(([{ target }]) => target.name)],
    row('requests/s to those of the pass-through', ({ ratio }) => figure(ratio, 2)),
    ...rows('CPU µs/request', ({ pid }) => 1_000 * (footprints.get(pid)?.cpu ?? NaN)),
    row('added at 300/s: p50 ms', ({ added }) => figure(added.p50, 2)),
    row('  p99 ms', ({ added }) => figure(added.p99, 2)),
    row('first token of 128 streams: added p50 ms', ({ addedFirst }) => figure(addedFirst, 2)),
    row('CPU µs/frame: processes', ({ frame }) => figure(frame)),
    ...rows('private MiB idle', ({ pid }) => footprints.get(pid)?.idlePrivateMiB ?? NaN),
    ...rows('private MiB after load', ({ pid, isParent }) => privateMiB(pid, isParent)),
  ]);
}
