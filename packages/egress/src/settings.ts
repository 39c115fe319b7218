import { z } from 'zod';
import { AllowList } from './allow-list.ts';

/** Settings of a service that calls addresses that tenants give. */
export const egressSettings = {
  /** Hosts, addresses and ranges that may be called although they are not public; a comma list. */
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
