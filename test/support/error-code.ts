/** The code of an error in the shape of any API that the gateway speaks; undefined for any other body. */
export function errorCode(body: unknown): string | undefined {
  const { error } = Object(body) as { error?: string | { code?: string; details?: Details } };
  // OAuth's.
  if (typeof error === 'string') return error;
  const { details } = error ?? {};
  if (details === undefined) return error?.code;
  return Array.isArray(details) ? details[0]?.reason?.toLowerCase() : details.error_code;
}

/** Google's and Anthropic's. */
type Details = { reason?: string }[] | { error_code: string };
