import { pathToFileURL } from 'node:url';
import { maxErrorChars } from './bounds.ts';

/** The child's answer to the input with this number; 0 announces readiness for inputs. */
export type ChildAnswer = { number: number } & ({ value: unknown } | { failure: string });

interface Numbered {
  number: number;
  input: unknown;
}

/**
 * The entry file of a sandbox's process. Its arguments are a file and the name of a function exported by the file.
 * Calls the function with each message, and sends its result. Ends with the parent.
 */
async function serve(file: string, task: string): Promise<void> {
  const module = (await import(pathToFileURL(file).href)) as Record<string, (input: unknown) => unknown>;
  const run = module[task];
  if (run === undefined) throw new Error(`${file} exports no ${task}`);
  process.on('message', (input) => {
    void answerOf(run, input as Numbered).then((answer) => process.send?.(answer));
  });
  process.send?.({ number: 0, value: null } satisfies ChildAnswer);
}

async function answerOf(run: (input: unknown) => unknown, { number, input }: Numbered): Promise<ChildAnswer> {
  try {
    return { number, value: await run(input) };
  } catch (error) {
    return { number, failure: String(error).slice(0, maxErrorChars) };
  }
}

process.on('disconnect', () => process.exit());
await serve(process.argv[2] ?? '', process.argv[3] ?? '');
