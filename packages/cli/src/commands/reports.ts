import type { Command } from 'commander';
import type { Context, SharedOptions } from '../context.ts';
import type { Operation } from '../operations.ts';
import { addSince, optionOf, queryOf, subcommand, withQuery } from '../resource-commands.ts';

interface SummaryGroup {
  key: Record<string, string | null>;
  /** Absent in usage. */
  total_usd?: string;
}

interface Summary {
  totals?: Record<string, unknown>;
  groups: SummaryGroup[];
  from: string;
  to: string;
  as_of: string;
  truncated?: boolean;
}

/** Names of options shorter than those of their parameters. */
const shortNames: Record<string, string> = { group_by: 'by', agent_id: 'agent' };

/**
 * `usage` and `costs`, also of `owner`, with the filters, defaults and descriptions of the contract. Figures come from the API: they are
 * neither added up nor rounded here.
 */
export function addReports(program: Command, context: Context, operations: readonly Operation[]): void {
  for (const words of [['usage'], ['costs'], ['owner', 'usage'], ['owner', 'costs']]) {
    const operation = operations.find(({ id }) => id === `${words.join('.')}.summary`);
    if (operation === undefined) continue;
    const command = words
      .reduce(subcommand, program)
      // Options behind `costs export` are those of the export.
      .enablePositionalOptions()
      .description(operation.summary)
      .addHelpText('after', `\nExample:\n  gatehouse ${words.join(' ')} --by day,model --since 7d\n`);
    for (const parameter of operation.queryParameters)
      command.addOption(optionOf(parameter, shortNames[parameter.name]));
    addSince(command, operation.queryParameters);
    command.action(async (values: SharedOptions & Record<string, unknown>) => {
      const query = queryOf(operation.queryParameters, values, shortNames);
      const client = await context.client(values);
      const path = withQuery(operation.path, query);
      print(context, values, await client.json<Summary>({ method: 'GET', path }));
    });
  }
}

function print(context: Context, options: SharedOptions, summary: Summary): void {
  const output = context.output(options);
  if (output.isData) {
    output.answer(summary);
    return;
  }
  const { groups, totals, truncated, ...others } = summary;
  output.answer({ ...others, ...totals });
  if (groups.length === 0) return;
  const rows = highestFirst(groups).map(({ key, ...figures }) => ({ ...key, ...figures }));
  output.line('');
  output.rows(rows, Object.keys(rows[0] ?? {}));
  if (truncated === true)
    output.line('There are more groups than one answer holds: choose a shorter period.');
}

/** Groups of costs by their amount; days, months and figures without amounts stay in the order of the API. */
function highestFirst(groups: readonly SummaryGroup[]): readonly SummaryGroup[] {
  const isOverTime = groups.some(({ key }) => 'day' in key || 'month' in key);
  if (isOverTime) return groups;
  return groups.toSorted(
    ({ total_usd: one = '0' }, { total_usd: other = '0' }) => Number(other) - Number(one),
  );
}
