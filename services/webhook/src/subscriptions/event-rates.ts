/** How often an event is sent, for types with a limit. */

interface Rate {
  everyS: number;
  /** The members of the data with the event's subject; events about different subjects don't count together. */
  about: readonly string[];
}

const minute = 60;
const hour = 60 * minute;

const rates: ReadonlyMap<string, Rate> = new Map([
  ['limit.exceeded', { everyS: minute, about: [] }],
  ['guardrail.blocked', { everyS: minute, about: ['guardrail_id'] }],
  ['guardrail.failing', { everyS: minute, about: ['guardrail_id'] }],
  ['policy.counters_full', { everyS: hour, about: ['policy_id'] }],
  ['run.failed', { everyS: minute, about: ['agent_id'] }],
  // Each replica of chat has a breaker of its own.
  ['provider.down', { everyS: 10 * minute, about: ['provider', 'model'] }],
  ['provider_key.failing', { everyS: 10 * minute, about: ['provider', 'key', 'provider_key_id'] }],
  // Each replica of chat reads the file.
  ['catalogue.invalid', { everyS: 10 * minute, about: ['digest'] }],
  // Each replica of tenant asks issuers about people.
  ['issuer.groups_unreadable', { everyS: hour, about: ['issuer', 'problem'] }],
  ['model.unpriced', { everyS: hour, about: ['provider', 'model'] }],
]);

/** The mark of an event and how long it lasts; null if each event of its type is sent. */
export function rateOf({
  type,
  data,
}: {
  type: string;
  data: Readonly<Record<string, unknown>>;
}): { subject: string; everyS: number } | null {
  const rate = rates.get(type);
  if (rate === undefined) return null;
  const { everyS, about } = rate;
  const subject = [type, ...about.map((name) => String(data[name]).slice(0, 200))].join('/');
  return { subject, everyS };
}
