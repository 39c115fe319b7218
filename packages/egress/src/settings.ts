import { z } from 'zod';
import { AllowList } from './allow-list.ts';

/** Settings of a service calling addresses given by tenants. */
export const egressSettings = {
  /** Callable hosts, addresses and ranges outside the public internet; a comma list. */
  EGRESS_ALLOW: z
    .string()
    .default('')
    .transform((text, context) => {
      try {
        return new AllowList(
          text
            .split(',')
            .map((entry) => entry.trim())
            .filter((entry) => entry !== ''),
        );
      } catch (error) {
        context.addIssue({ code: 'custom', message: (error as Error).message });
        return z.NEVER;
      }
    }),
};
