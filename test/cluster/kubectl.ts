import { execFile } from 'node:child_process';

const defaultTimeoutMs = 60_000;

export interface RunOptions {
  /** Written to its standard input. */
  input?: string;
  timeoutMs?: number;
}

/** Runs `kubectl` against the cluster that KUBECONFIG names. Throws with what it said. */
export function kubectl(args: readonly string[], options: RunOptions = {}): Promise<string> {
  return run(process.env['KUBECTL'] ?? 'kubectl', args, options);
}

/** Runs `helm` likewise. */
export function helm(args: readonly string[], options: RunOptions = {}): Promise<string> {
  return run(process.env['HELM'] ?? 'helm', args, options);
}

/** The output of `kubectl … -o json`, parsed. */
export async function kubectlJson<Shape>(args: readonly string[]): Promise<Shape> {
  return JSON.parse(await kubectl([...args, '--output=json'])) as Shape;
}

/** Creates or changes objects. */
export async function apply(objects: readonly object[], namespace?: string): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  const where = namespace === undefined ? [] : ['--namespace', namespace];
  await kubectl(['apply', ...where, '--filename=-'], { input: JSON.stringify(list) });
}

function run(command: string, args: readonly string[], options: RunOptions): Promise<string> {
  const { input, timeoutMs = defaultTimeoutMs } = options;
  return new Promise((resolve, reject) => {
    const limits = { timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(command, args, limits, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${command} ${args.join(' ')}: ${stderr || error.message}`, { cause: error }));
    });
    child.stdin?.on('error', () => undefined).end(input);
  });
}
