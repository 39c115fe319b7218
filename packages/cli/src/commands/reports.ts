import type { Command } from 'commander';
import type { Context, SharedOptions } from '../context.ts';
import { addShared, withQuery } from '../resource-commands.ts';

interface ReportOptions extends SharedOptions {
  from?: string;
  to?: string;
  by?: string;
  timezone?: string;
  model?: string;
  agent?: string;
  userId?: string;
}

interface Summary {
  totals?: Record<string, unknown>;
  groups: { key: Record<string, string | null> }[];
  from: string;
  to: string;
  as_of: string;
  truncated?: boolean;
}

/** `usage` and `costs`. Figures are those of the API: none is added up or rounded here. */
export function addReports(program: Command, context: Context): void {
  for (const report of ['usage', 'costs'] as const) {
    addShared(program.command(report))
      // Options behind `costs export` are those of the export.
      .enablePositionalOptions()
      .description(
        report === 'usage'
          ? 'requests, tokens and users of a period'
          : 'what a period has cost, in US dollars',
      )
      .option('--from <time>', 'RFC 3339; 24 hours ago by default')
      .option('--to <time>', 'RFC 3339; now by default')
      .option(
        '--by <groups>',
        'up to three of hour, day, month, agent, model, provider, channel, user, api_key, …',
      )
      .option(
        '--timezone <zone>',
        'for days and months, such as Europe/Berlin; that of the tenant by default',
      )
      .option('--model <model>')
      .option('--agent <id>')
      .option('--user-id <id>')
      .addHelpText('after', `\nExample:\n  gatehouse ${report} --by day,model --from 2026-11-01T00:00:00Z\n`)
      .action(async (options: ReportOptions) => {
        const { from, to, by, timezone, model, agent, userId } = options;
        const query = { from, to, group_by: by, timezone, model, agent_id: agent, user_id: userId };
        const client = await context.client(options);
        const path = withQuery(`/v1/${report}/summary`, query);
        const summary = await client.json<Summary>({ method: 'GET', path });
        print(context, options, summary);
      });
  }
}

function print(context: Context, options: SharedOptions, summary: Summary): void {
  const output = context.output(options);
  if (output.isJson) {
    output.answer(summary);
    return;
  }
  const { groups, totals, truncated, ...others } = summary;
  output.answer({ ...others, ...totals });
  if (groups.length === 0) return;
  const rows = groups.map(({ key, ...figures }) => ({ ...key, ...figures }));
  output.line('');
  output.rows(rows, Object.keys(rows[0] ?? {}));
  if (truncated === true)
    output.line('There are more groups than one answer holds: choose a shorter period.');
}
