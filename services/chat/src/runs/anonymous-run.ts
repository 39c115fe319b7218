/** The members of a run's record that name a user or a session, or hold a text. */
const texts = ['user_id', 'session_id', 'input_preview', 'output_preview', 'error_message'];

/** A run's record, as JSON, without its user, its session and all texts. */
export function anonymous(json: string): string {
  const record = JSON.parse(json) as Record<string, unknown>;
  const removed = texts.filter((name) => Object.hasOwn(record, name)).map((name) => [name, null]);
  return JSON.stringify({ ...record, ...(Object.fromEntries(removed) as Record<string, null>) });
}

/** The same of what an end adds to a record: JSON whose brace at the beginning is a comma. */
export function anonymousEnding(ending: string): string {
  return `,${anonymous(`{${ending.slice(1)}`).slice(1)}`;
}
