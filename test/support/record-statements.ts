import { Client } from 'pg';
import { StatementRecord } from './statement-record.ts';

/*
 * Jest runs this before each test file: it keeps one sample of every statement that a service's roles send, with its
 * values, for `make test-statements`.
 */

interface Session {
  role: string;
  /** Start-up settings that decide about plans. */
  startUp: readonly string[];
  /** Statements of the transaction so far that set something until its end. */
  settings: { text: string; values: readonly unknown[] }[];
}

const record = StatementRecord.ofThisRun();
if (record !== undefined) recordInto(record);

function recordInto(kept: StatementRecord): void {
  const sessions = new WeakMap<Client, Session | null>();
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its client
  const { query } = Client.prototype;
  Client.prototype.query = function (this: Client, ...input: unknown[]) {
    let session = sessions.get(this);
    if (session === undefined) sessions.set(this, (session = sessionOf(this)));
    if (session !== null) keep(kept, session, input);
    return Reflect.apply(query, this, input) as never;
  };
}

/** Null for connections of tests, which act as no role of a service. */
function sessionOf(client: Client): Session | null {
  const { options = '' } = (client as unknown as { connectionParameters: { options?: string } })
    .connectionParameters;
  const role = [...options.matchAll(/-c role=(\w+)/g)].at(-1)?.[1];
  if (role === undefined || !/_(app|system)$/.test(role)) return null;
  const startUp = [...options.matchAll(/-c ((?:enable_\w+|plan_cache_mode|work_mem)=\w+)/g)];
  return { role, startUp: startUp.map(([, setting = '']) => setting), settings: [] };
}

function keep(kept: StatementRecord, session: Session, [statement, given]: readonly unknown[]): void {
  const { text, values = given ?? [] } =
    typeof statement === 'string' ? { text: statement } : (Object(statement) as Record<string, unknown>);
  if (typeof text !== 'string' || !Array.isArray(values)) return;
  if (/^(begin|commit|rollback)\b/.test(text)) {
    session.settings = [];
    return;
  }
  kept.add(session, text, values);
  if (/^\s*set local |\bset_config\(/.test(text)) session.settings.push({ text, values });
}
