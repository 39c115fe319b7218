import { pathToFileURL } from 'node:url';

/** The answer of the child to one input. */
export type ChildAnswer = { value: unknown } | { failure: string };

const maxFailureChars = 500;

/**
 * The entry file of a sandbox's process. Its arguments are a file and the name of a function that the file exports.
 * Calls the function with each message, and sends what it returns. Ends with the parent.
 */
async function serve(file: string, task: string): Promise<void> {
  const module = (await import(pathToFileURL(file).href)) as Record<string, (input: unknown) => unknown>;
  const run = module[task];
  if (run === undefined) throw new Error(`${file} exports no ${task}`);
  process.on('message', (input) => {
    void answerOf(run, input).then((answer) => process.send?.(answer));
  });
  process.send?.('ready');
}

async function answerOf(run: (input: unknown) => unknown, input: unknown): Promise<ChildAnswer> {
  try {
    return { value: await run((input as { input: unknown }).input) };
  } catch (error) {
    return { failure: String(error).slice(0, maxFailureChars) };
  }
}

process.on('disconnect', () => process.exit());
await serve(process.argv[2] ?? '', process.argv[3] ?? '');
