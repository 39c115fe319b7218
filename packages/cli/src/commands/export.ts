import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { exported, IncompleteExport } from '../declarations/export.ts';
import { save } from '../download.ts';
import type { Operation } from '../operations.ts';

interface ExportOptions {
  profile?: string;
  out?: string;
}

/** `export`. */
export function addExport(program: Command, context: Context, operations: readonly Operation[]): void {
  program
    .command('export')
    .description('write what a tenant has as declarations for apply; with an owner’s key, the tenants')
    .option('--profile <name>', 'another profile than the active one')
    .option('--out <file>', 'standard output by default, and for -')
    .addHelpText(
      'after',
      '\nExample:\n  gatehouse export --out gatehouse.yaml && gatehouse plan -f gatehouse.yaml\n',
    )
    .action(async (options: ExportOptions) => {
      const client = await context.client(options);
      const { role } = await client.json<{ role: string }>({ method: 'GET', path: '/v1/whoami' });
      const { surroundings } = context;
      const { text, leftOut } = await exported(client, { operations, isOwner: role === 'owner' });
      await save(
        async function* pieces() {
          yield Buffer.from(text);
        },
        { out: options.out, surroundings },
      );
      if (leftOut.size > 0) throw new IncompleteExport(leftOut);
    });
}
