import { z } from 'zod';

/**
 * Parses `name=value,name=value` with percent-encoded values, the format of OpenTelemetry variables, into an object.
 */
export const keyValueList = z.string().transform((text, context): Record<string, string> => {
  const entries: [string, string][] = [];
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const [name = '', ...rest] = part.split('=');
    const value = decoded(rest.join('=').trim());
    if (name.trim() === '' || rest.length === 0 || value === null) {
      context.addIssue({ code: 'custom', message: 'must be name=value,… with percent-encoded values' });
      return z.NEVER;
    }
    entries.push([name.trim(), value]);
  }
  return Object.fromEntries(entries);
});

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
