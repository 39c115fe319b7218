import { Client } from 'pg';
import type { ServiceGround } from './service-ground.ts';

/** A node of a plan in PostgreSQL's JSON, with what its execution has counted. */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Join Filter'?: string;
  'Rows Removed by Join Filter'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** A statement as it ran. */
export interface ExecutedPlan {
  statement: string;
  plan: PlanNode;
}

/** Comparisons that are no problem, however few of them match. */
const harmless = 1_000;
/** Comparisons for each row that a join returns. */
const mostPerRow = 10;

/**
 * Keeps the plan, with the counts of its execution, of every statement that this process sends to a database. Call it
 * before the service connects; `stop` ends it.
 */
export async function recordPlans(ground: ServiceGround): Promise<{ plans: ExecutedPlan[]; stop(): void }> {
  const [database] = await ground.rows<{ name: string }>('select quote_ident(current_database()) as name');
  for (const setting of [
    `session_preload_libraries = 'auto_explain'`,
    'auto_explain.log_min_duration = 0',
    'auto_explain.log_analyze = on',
    'auto_explain.log_timing = off',
    'auto_explain.log_format = json',
    'auto_explain.log_level = notice',
    'auto_explain.log_parameter_max_length = 0',
    // Without the functions of policies, which run for each row.
    'auto_explain.log_nested_statements = off',
  ])
    await ground.rows(`alter database ${database?.name ?? ''} set ${setting}`);
  const plans: ExecutedPlan[] = [];
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its client
  const { connect } = Client.prototype;
  Client.prototype.connect = function (this: Client, ...input: unknown[]) {
    this.on('notice', ({ message = '' }) => {
      const [, found] = /^duration: .* plan:\s*(\{[^]*)$/.exec(message) ?? [];
      if (found === undefined) return;
      const { 'Query Text': statement, Plan: plan } = JSON.parse(found) as {
        'Query Text': string;
        Plan: PlanNode;
      };
      plans.push({ statement, plan });
    });
    return Reflect.apply(connect, this, input) as never;
  };
  return {
    plans,
    stop: () => {
      Client.prototype.connect = connect;
    },
  };
}

/** Joins that compared far more pairs of rows than they returned: each a sentence with its statement. */
export function wastefulJoins(plans: readonly ExecutedPlan[]): string[] {
  return problemsOf(plans, (node) => {
    const removed = timesLoops(node, node['Rows Removed by Join Filter']);
    const returned = timesLoops(node, node['Actual Rows']);
    if (removed <= Math.max(harmless, mostPerRow * returned)) return null;
    return `the join filter ${node['Join Filter'] ?? ''} removed ${removed} rows to return ${returned}`;
  });
}

/** Tables with many rows that were read from end to end: each a sentence with its statement. */
export function wholeTables(plans: readonly ExecutedPlan[]): string[] {
  return problemsOf(plans, (node) => {
    const read = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
    if (node['Node Type'] !== 'Seq Scan' || read <= harmless) return null;
    return `all ${read} rows of ${node['Relation Name'] ?? ''} were read`;
  });
}

/** Each problem once for each statement. */
function problemsOf(plans: readonly ExecutedPlan[], problemOf: (node: PlanNode) => string | null): string[] {
  const found = new Map<string, string>();
  for (const { statement, plan } of plans)
    for (const problem of nodesOf(plan).map(problemOf))
      if (problem !== null) found.set(statement, `${problem}: ${statement}`);
  return [...found.values()];
}

function timesLoops(node: PlanNode, each = 0): number {
  return each * (node['Actual Loops'] ?? 1);
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
