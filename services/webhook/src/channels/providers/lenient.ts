import type { z } from 'zod';

/**
 * A member of an event that may be absent or of any other kind: providers send many events by one URL, whose members of
 * the same name differ. Read as undefined unless it has the shape.
 */
export function lenient<Shape extends z.ZodType>(shape: Shape) {
  return shape.optional().catch(undefined);
}
