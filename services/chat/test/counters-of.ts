import { readdirSync, readFileSync } from 'node:fs';

/** The child processes of `pid` that count tokens. */
export function countersOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readText(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
  return children.filter((child) => readText(`/proc/${child}/cmdline`).includes('count-worker'));
}

/** Empty if the process has ended. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
