import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { Context, SharedOptions } from '../context.ts';
import { readText } from '../inputs.ts';
import { addShared, subcommand } from '../resource-commands.ts';
import { UsageError } from '../usage-error.ts';

interface Results {
  results: { path: string; score: number; text: string }[];
}

/** `memory put`, `search` and `import`, beside what comes from the operations. */
export function addMemory(program: Command, context: Context): void {
  const memory = subcommand(program, 'memory');
  const withUser = (command: Command): Command =>
    addShared(command).option('--as-user <id>', 'on behalf of that user');

  withUser(memory.command('put'))
    .description('keep a file as a document of an agent; - reads standard input')
    .argument('<agent>', 'its key or id')
    .argument('<path>', 'such as notes/key.md')
    .argument('<file>')
    .option('--scope <scope>', 'agent or user', 'agent')
    .option('--title <title>')
    .addHelpText('after', '\nExample:\n  gatehouse memory put clerk notes/key.md ./key.md\n')
    .action(async (agent: string, path: string, file: string, options: PutOptions) => {
      const client = await context.client(options);
      const { scope, title, asUser: user } = options;
      const text = await readText(file, context.surroundings.stdin);
      const at = `/v1/agents/${encodeURIComponent(agent)}/memory/documents/${path.split('/').map(encodeURIComponent).join('/')}`;
      const document = { text, scope, ...(title !== undefined && { title }) };
      context.output(options).answer(await client.json({ method: 'PUT', path: at, json: document, user }));
    });

  withUser(memory.command('search'))
    .description('the passages that fit a question best')
    .argument('<agent>', 'its key or id')
    .argument('<question...>')
    .option('--limit <number>', 'passages at most', '10')
    .addHelpText('after', '\nExample:\n  gatehouse memory search clerk where is the key\n')
    .action(async (agent: string, words: string[], options: UserOptions & { limit: string }) => {
      const client = await context.client(options);
      const path = `/v1/agents/${encodeURIComponent(agent)}/memory/search`;
      const json = { query: words.join(' '), limit: Number(options.limit) };
      const response = await client.json<Results>({ method: 'POST', path, json, user: options.asUser });
      const output = context.output(options);
      if (output.isData) output.answer(response);
      else
        output.answer({
          data: response.results.map(({ path: file, score, text }) => ({
            path: file,
            score,
            text: firstLine(text),
          })),
        });
    });

  withUser(memory.command('import'))
    .description('all documents, entities and relations of an export; they appear whole or not at all')
    .argument('<agent>', 'its key or id')
    .argument('<file>', 'JSON lines; - reads standard input')
    .addHelpText('after', '\nExample:\n  gatehouse memory import clerk backup.jsonl\n')
    .action(async (agent: string, file: string, options: UserOptions) => {
      const client = await context.client(options);
      if (file !== '-') await stat(file).catch(() => fail(`${file} can't be read`));
      const lines = file === '-' ? context.surroundings.stdin : createReadStream(file);
      const path = `/v1/agents/${encodeURIComponent(agent)}/memory/import`;
      const body = Readable.toWeb(lines) as unknown as ReadableStream;
      const contentType = 'application/x-ndjson';
      context
        .output(options)
        .answer(await client.json({ method: 'POST', path, body, contentType, user: options.asUser }));
    });
}

interface UserOptions extends SharedOptions {
  asUser?: string;
}

interface PutOptions extends UserOptions {
  scope: string;
  title?: string;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]?.slice(0, 48) ?? '';
}

function fail(message: string): never {
  throw new UsageError(message);
}
