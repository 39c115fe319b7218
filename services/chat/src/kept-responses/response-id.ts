/** The id of a kept response is that of its run, as clients of OpenAI's responses know ids. */

const prefix = 'resp_';

export function responseId(runId: string): string {
  return `${prefix}${runId.replaceAll('-', '')}`;
}

/** The id of the run; null for an id that no kept response has. */
export function runIdOf(id: string): string | null {
  const [, ...parts] =
    /^resp_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(id) ?? [];
  return parts.length === 5 ? parts.join('-') : null;
}
