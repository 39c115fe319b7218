import { z } from 'zod';

/** `GET /health` (contract §3). */
export const protocolVersion = 3;

export const health = z.strictObject({
  status: z.enum(['ok', 'unavailable']),
  protocol: z.literal(protocolVersion),
  version: z.string(),
});
export type Health = z.output<typeof health>;
