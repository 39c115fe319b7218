import { setTimeout } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Context, SharedOptions } from '../context.ts';
import { addShared, subcommand, withQuery } from '../resource-commands.ts';
import { timeOf } from '../times.ts';

interface FollowOptions extends SharedOptions {
  since?: string;
  agent?: string;
  user?: string;
  status?: string;
  channel?: string;
  once?: boolean;
}

interface Trace {
  id: string;
  status: string;
  started_at: string;
  duration_ms: number | null;
  request_model: string;
  cost_usd: string | null;
  error: { type: string } | null;
}

interface TracePage {
  traces: Trace[];
  next_cursor: string;
  has_more: boolean;
  poll_after_ms: number;
}

/** `traces follow`: a line for each change of a run, until it is interrupted. */
export function addTraces(program: Command, context: Context): void {
  const traces = subcommand(program, 'traces');
  addShared(traces.command('follow'))
    .description('runs as they begin and end; with --json each is a line of JSON')
    .option('--since <time>', '7d, a date or RFC 3339; an hour ago by default')
    .option('--agent <id>')
    .option('--user <id>')
    .option('--status <status>', 'running, ok, error, cancelled, interrupted or blocked')
    .option('--channel <channel>', 'such as api or webhook')
    .option('--once', 'end when all up to now are shown')
    .addHelpText('after', '\nExample:\n  gatehouse traces follow --status error\n')
    .action(async (options: FollowOptions) => {
      const client = await context.client(options);
      const { signal } = context.surroundings;
      const output = context.output(options);
      const { agent, user, status, channel } = options;
      const filters = { agent_id: agent, user_id: user, status, channel, limit: '200' };
      const since = options.since === undefined ? undefined : startOf(options.since);
      let cursor: string | undefined;
      for (;;) {
        const query = { ...filters, ...(cursor === undefined ? { since } : { cursor }) };
        const path = withQuery('/v1/traces/follow', query);
        const page = await client.json<TracePage>({ method: 'GET', path });
        for (const trace of page.traces)
          if (output.isData) output.data(trace);
          else output.line(lineOf(trace));
        cursor = page.next_cursor;
        if (page.has_more) continue;
        if (options.once === true) return;
        await setTimeout(page.poll_after_ms, undefined, { signal });
      }
    });
}

function startOf(text: string): string {
  return timeOf(text, { option: 'since', now: new Date(), direction: 'past', timezone: 'UTC' });
}

function lineOf({ id, status, started_at, duration_ms, request_model, cost_usd, error }: Trace): string {
  const parts = [started_at, status.padEnd(11), id, request_model];
  if (duration_ms !== null) parts.push(`${duration_ms} ms`);
  if (cost_usd !== null) parts.push(`${cost_usd} USD`);
  if (error !== null) parts.push(error.type);
  return parts.join('  ');
}
