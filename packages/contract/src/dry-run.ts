import { z } from 'zod';
import type { Route } from './route.ts';

/** `?dry_run=true` of administrative changes: the same checks and the same response, and nothing changes. */
export const dryRunQuery = z.strictObject({
  dry_run: z.enum(['true', 'false']).default('false'),
});

/** The shape of a response to a dry run; null if it is that of the change itself. */
export function dryRunShape({ nullInDryRun, onlyInDryRun, response: { shape } }: Route): z.ZodObject | null {
  if (nullInDryRun.length === 0 && onlyInDryRun === undefined) return null;
  if (!(shape instanceof z.ZodObject)) return null;
  return shape.extend({
    ...Object.fromEntries(nullInDryRun.map((name) => [name, z.null()])),
    ...onlyInDryRun,
  });
}
