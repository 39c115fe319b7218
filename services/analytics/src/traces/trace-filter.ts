import type { ListTraces } from '@gatehouse/contract/traces';
import { dayMs } from '@gatehouse/kit/bounds';
import { picoOf } from '@gatehouse/kit/money';
import type { Viewer } from '../shared/viewer.ts';
import type { Period } from '../usage/period.ts';

/** The longest period in which previews are searched: the database reads the texts of all runs that a page looks at. */
const previewDays = 7;

/** The runs that a list has. Null for no condition. */
export interface TraceFilter {
  search: TraceSearch | null;
  model: string | null;
  provider: string | null;
  agentId: string | null;
  apiKeyId: string | null;
  user: string | null;
  sessionId: string | null;
  channel: string | null;
  dialect: string | null;
  status: string | null;
  errorCode: string | null;
  /** Pico-USD, as text. */
  minCost: string | null;
  minDurationMs: number | null;
}

/** A text with which names or ids of a run begin. */
export interface TraceSearch {
  text: string;
  /** Agents and API keys with names that begin with the text. */
  agentIds: readonly string[];
  apiKeyIds: readonly string[];
  /** Whether previews are searched, too. */
  previews: boolean;
}

/** The conditions of a list, without its search. */
export function filterOf(query: ListTraces, { user }: Viewer): Omit<TraceFilter, 'search'> {
  return {
    model: query.model ?? null,
    provider: query.provider ?? null,
    agentId: query.agent_id ?? null,
    apiKeyId: query.api_key_id ?? null,
    user,
    sessionId: query.session_id ?? null,
    channel: query.channel ?? null,
    dialect: query.dialect ?? null,
    status: query.status ?? null,
    errorCode: query.error_code ?? null,
    minCost: query.min_cost_usd === undefined ? null : String(picoOf(query.min_cost_usd)),
    minDurationMs: query.min_duration_ms ?? null,
  };
}

/** Whether a search reads previews: the viewer must see those of all runs of the list. */
export function searchesPreviews({ previewsOf }: Viewer, { from, to }: Period): boolean {
  return (previewsOf.all || previewsOf.user !== null) && to.getTime() - from.getTime() <= previewDays * dayMs;
}
